# syntax=docker/dockerfile:1
# Signalbox as one program on an image that holds glibc, certificates and time zones, and nothing else: no shell, no
# package manager. Tags are named here, no digests: pin both images by digest where you build (docs/operate/deploy.md).

FROM node:22-bookworm-slim AS build
WORKDIR /build
# What changes seldom comes first, so that an edit of the sources installs nothing again.
COPY package.json package-lock.json ./
# No package runs a script of its own, but for Bun's, which puts its program in place.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund && node node_modules/bun/install.js
COPY . .
# The data folder is made here, for the last image has no shell to make it with.
RUN npm run --silent build -- --outfile /out/signalbox && mkdir /out/data

# Debian 12, as the image that builds. The program is linked to glibc alone, so neither OpenSSL nor libstdc++ is needed.
FROM gcr.io/distroless/base-nossl-debian12:nonroot
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Signalbox" \
      org.opencontainers.image.description="A self-hosted LLM gateway and policy engine" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /out/signalbox /usr/local/bin/signalbox
COPY --from=build --chown=65532:65532 /out/data /data
# By number, so that Kubernetes can see that it is not root.
USER 65532:65532
# In a container 127.0.0.1 is the container alone: who publishes the port says for whom.
ENV HOST=0.0.0.0 PORT=8787 SIGNALBOX_DATA=/data SIGNALBOX_LOG=json
VOLUME /data
EXPOSE 8787
# Requests under way have 25 s to end: whoever stops it should wait for 40.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=4 CMD ["/usr/local/bin/signalbox", "health"]
ENTRYPOINT ["/usr/local/bin/signalbox"]
CMD ["serve"]
