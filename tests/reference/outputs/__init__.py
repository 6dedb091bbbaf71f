"""What commands and files of wheelmill promise to programs: a type each, from which the published schemas are made."""
