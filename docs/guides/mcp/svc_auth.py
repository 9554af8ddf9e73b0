"""Verifies the access tokens of svc, and the scopes that single tools require."""

import asyncio
import fnmatch
import json
import os

import jwt
from mcp.server.auth.provider import AccessToken

ISSUER = os.environ["SVC_ISSUER"]
AUDIENCE = os.environ["SVC_AUDIENCE"]

# Cached for ten minutes. An unknown key id fetches the keys again, at most every 30 seconds.
keys = jwt.PyJWKClient(f"{ISSUER}/.well-known/jwks.json", lifespan=600, timeout=5, cooldown_duration=30)


class SvcVerifier:
    async def verify_token(self, token: str) -> AccessToken | None:
        try:
            # The keys of svc may have to be fetched, which must not block other requests.
            verified = await asyncio.to_thread(self.decode, token)
        except jwt.PyJWTError:
            return None
        claims = verified["payload"]
        # svc signs ID tokens with the same keys. A bearer does not prove the key of a DPoP-bound token.
        if verified["header"].get("typ") != "at+jwt" or "cnf" in claims:
            return None
        return AccessToken(
            token=token,
            client_id=claims["client_id"],
            scopes=claims.get("scope", "").split(),
            expires_at=claims["exp"],
            resource=claims["aud"],
            subject=claims["sub"],
            claims=claims,
        )

    def decode(self, token: str) -> dict:
        return jwt.decode_complete(
            token,
            keys.get_signing_key_from_jwt(token),
            algorithms=["ES256", "RS256", "EdDSA"],
            issuer=ISSUER,
            audience=AUDIENCE,
            leeway=5,
            options={"require": ["exp", "iat", "sub"]},
        )


class GuardTools:
    """Answers 403 with the missing scope to a call of a tool, so that the client can ask the user for it."""

    def __init__(self, app, metadata_url: str, scopes: dict[str, str]):
        self.app, self.metadata_url, self.scopes = app, metadata_url, scopes

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http" or scope["method"] != "POST":
            return await self.app(scope, receive, send)
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        missing = self.missing(scope, body)
        if missing is not None:
            return await self.refuse(send, missing)
        replayed = False

        async def replay():
            nonlocal replayed
            if replayed:
                return await receive()
            replayed = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, replay, send)

    def missing(self, scope, body: bytes) -> str | None:
        """The scopes of the token and the missing one: clients request exactly these."""
        try:
            message = json.loads(body)
        except ValueError:
            return None
        # Without a valid token, the server answers 401.
        if not scope["user"].is_authenticated:
            return None
        granted = scope["auth"].scopes
        for one in message if isinstance(message, list) else [message]:
            if not isinstance(one, dict) or one.get("method") != "tools/call":
                continue
            name = str((one.get("params") or {}).get("name"))
            for pattern, wanted in self.scopes.items():
                if fnmatch.fnmatchcase(name, pattern) and wanted not in granted:
                    return " ".join([*granted, wanted])
        return None

    async def refuse(self, send, missing: str):
        challenge = f'Bearer error="insufficient_scope", scope="{missing}", resource_metadata="{self.metadata_url}"'
        headers = [(b"www-authenticate", challenge.encode()), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 403, "headers": headers})
        await send({"type": "http.response.body", "body": b'{"error":"insufficient_scope"}'})
