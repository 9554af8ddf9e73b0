# The container image: docker build --tag svc . (docs/deployment.md explains how to run it).
ARG NODE_IMAGE=docker.io/library/node:24-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
COPY .dev/prepare.mjs .dev/production-lock.mjs .dev/
RUN node .dev/prepare.mjs dev
COPY . .
RUN npm run --silent build && node .dev/image.mjs image

FROM ${NODE_IMAGE}
# Remove the package managers, which only an intruder would use. The user below owns the data.
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

# PORT overrides server.port, so that the health check always uses the port on which the server listens.
ENV PATH="/app/bin:${PATH}" PORT="8000"
EXPOSE 8000
VOLUME /app/data
# A number, so that Kubernetes can verify that it is not root.
USER 1000:1000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health/live`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Node is the first process and handles SIGTERM and SIGINT. The flags are those of `npm start`.
ENTRYPOINT []
CMD ["node", "--expose-gc", "--v8-pool-size=2", "--max-semi-space-size=8", "--heap-growing-percent=30", "--no-allocation-site-pretenuring", "--no-maglev", "--no-sparkplug", "dist/main.js"]
