# Both commands of the README in a clean system: `docker build .` in a clone. Without .git, which DVC and `verify` read, it
# stops at the first of them. The base is Python 3.11.16 on Debian 12 for amd64 and arm64, by the digest of its index.
FROM python:3.11.16-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b
RUN apt-get update && apt-get install --yes --no-install-recommends git make && rm -rf /var/lib/apt/lists/*
WORKDIR /memrepro
COPY . .
RUN make repro
RUN make test
