# The container image: docker build --tag svc . (docs/deployment.md says how to run it).
ARG NODE_IMAGE=docker.io/library/node:24-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
COPY .dev/prepare.mjs .dev/
RUN node .dev/prepare.mjs
COPY . .
RUN node .dev/prepare.mjs build && node .dev/image.mjs image

FROM ${NODE_IMAGE}
# What installs and builds is of no use here but to an intruder. The data belongs to the user below.
RUN rm -rf /usr/local/lib/node_modules /usr/local/include /opt/yarn-* \
      /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn /usr/local/bin/yarnpkg \
    && install -d -o 1000 -g 1000 -m 700 /app/data
WORKDIR /app
COPY --from=build /build/image ./

ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="svc" \
      org.opencontainers.image.description="A standalone identity server" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

# PORT wins over server.port of the YAML, so the health check always asks where the server listens.
ENV PATH="/app/bin:${PATH}" PORT="8000"
EXPOSE 8000
VOLUME /app/data
# By number, so that Kubernetes can tell that it is not root.
USER 1000:1000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health/live`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Node is the first process and takes SIGTERM and SIGINT itself. The flags are those of `npm start`.
ENTRYPOINT []
CMD ["node", "--max-semi-space-size=8", "--heap-growing-percent=60", "--no-allocation-site-pretenuring", "dist/main.js"]
