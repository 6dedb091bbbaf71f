"""Releases in a bucket of an S3 API: Amazon's, Cloudflare R2, MinIO and others."""
