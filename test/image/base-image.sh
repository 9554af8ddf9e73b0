#!/usr/bin/env bash
# Makes the image node:24-slim for an engine that reaches no registry: Debian by debootstrap, Node and npm from npm.
set -euo pipefail
docker=${DOCKER:-docker}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
debootstrap --variant=minbase --include=ca-certificates bookworm "$folder/root" >/dev/null
(cd "$folder" && npm pack --silent "node-linux-$(node -p process.arch)@24" npm@11 >/dev/null)
usr=$folder/root/usr/local
mkdir -p "$usr/lib/node_modules/npm" "$usr/include" "$usr/etc"
tar -xzf "$folder"/node-linux-*.tgz -C "$usr/bin" --strip-components=2 package/bin/node
tar -xzf "$folder"/npm-*.tgz -C "$usr/lib/node_modules/npm" --strip-components=1
for name in npm npx; do ln -s "../lib/node_modules/npm/bin/$name-cli.js" "$usr/bin/$name"; done
chmod +x "$usr/bin/node" "$usr"/lib/node_modules/npm/bin/*.js
# Certificates of a proxy between this machine and the registry.
cp /etc/ssl/certs/ca-certificates.crt "$folder/root/etc/ssl/certs/"
echo 'cafile=/etc/ssl/certs/ca-certificates.crt' >"$usr/etc/npmrc"
chroot "$folder/root" useradd --create-home --uid 1000 node
tar -C "$folder/root" -c . | "$docker" import --change 'CMD ["node"]' - node:24-slim >/dev/null
