"""Releases in a bucket of an S3 API: Amazon's, Cloudflare R2, MinIO and others."""

from wheelmill.release.s3.bucket import Bucket
from wheelmill.release.s3.store import S3Store
