# syntax=docker/dockerfile:1
# Signalbox as one binary. The image has only glibc, certificates and time zones, without a shell or a package manager.
# The base images have tags. Pin both by digest when you build (docs/operate/deploy.md).

FROM node:22-bookworm-slim AS build
WORKDIR /build
# Files that seldom change come first, so that an edit of the sources does not repeat the installation.
COPY package.json package-lock.json ./
# npm runs no install scripts except the script of Bun, which installs its binary.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund && node node_modules/bun/install.js
COPY . .
# The build uses the commit of the clone (.dockerignore), or this argument for sources without a commit.
ARG REVISION
# The data folder is created here, because the final image has no shell.
RUN npm run --silent build -- --outfile /out/signalbox --commit "$REVISION" && mkdir /out/data

# Debian 12, like the build image. The program links only to glibc, so it needs neither OpenSSL nor libstdc++.
FROM gcr.io/distroless/base-nossl-debian12:nonroot
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Signalbox" \
      org.opencontainers.image.description="A self-hosted LLM gateway and policy engine" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="0.2.0" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /out/signalbox /usr/local/bin/signalbox
COPY --from=build /out/THIRD-PARTY-LICENSES /usr/share/doc/signalbox/THIRD-PARTY-LICENSES
COPY --from=build --chown=65532:65532 /out/data /data
# A number, so that Kubernetes can verify that the user is not root.
USER 65532:65532
# Listens on all addresses of the container; publishing the port decides who can reach it.
ENV HOST=0.0.0.0 PORT=8787 SIGNALBOX_DATA=/data SIGNALBOX_LOG=json
VOLUME /data
EXPOSE 8787
# Running requests have 25 s to finish, so allow 40 s for a stop.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=4 CMD ["/usr/local/bin/signalbox", "health"]
ENTRYPOINT ["/usr/local/bin/signalbox"]
CMD ["serve"]
