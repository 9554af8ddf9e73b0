"""Verifies the access tokens of svc."""

from dataclasses import dataclass
from functools import wraps

import jwt
from django.conf import settings
from django.http import JsonResponse

# Cached for ten minutes. An unknown key id fetches the keys again, at most every 30 seconds.
keys = jwt.PyJWKClient(f"{settings.SVC_ISSUER}/.well-known/jwks.json", lifespan=600, timeout=5, cooldown_duration=30)


@dataclass(frozen=True)
class Caller:
    id: str
    abilities: frozenset[str]
    claims: dict

    def can(self, ability: str) -> bool:
        return ability in self.abilities


def reject(status: int, headers: dict) -> JsonResponse:
    return JsonResponse({"message": {401: "Unauthenticated.", 403: "Forbidden"}.get(status, "Unavailable")}, status=status, headers=headers)


def verify(token: str) -> Caller:
    verified = jwt.decode_complete(
        token,
        keys.get_signing_key_from_jwt(token),
        algorithms=["ES256", "RS256", "EdDSA"],
        issuer=settings.SVC_ISSUER,
        audience=settings.SVC_AUDIENCE,
        leeway=5,
        options={"require": ["exp", "iat", "sub"]},
    )
    claims = verified["payload"]
    # svc signs ID tokens with the same keys. A bearer does not prove the key of a DPoP-bound token.
    if verified["header"].get("typ") != "at+jwt" or "cnf" in claims:
        raise jwt.InvalidTokenError("not an access token for a bearer")
    return Caller(claims["sub"], frozenset(claims.get("scope", "").split()), claims)


def requires(ability: str):
    """Lets only callers with the ability call the view, as `request.caller`."""

    def decorate(view):
        @wraps(view)
        def check(request, *args, **kwargs):
            scheme, _, token = request.headers.get("Authorization", "").partition(" ")
            if scheme.lower() != "bearer":
                return reject(401, {"WWW-Authenticate": "Bearer"})
            try:
                request.caller = verify(token)
            except jwt.PyJWKClientConnectionError:
                return reject(503, {"Retry-After": "1"})
            except jwt.PyJWTError:
                return reject(401, {"WWW-Authenticate": 'Bearer error="invalid_token"'})
            if not request.caller.can(ability):
                return reject(403, {"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{ability}"'})
            return view(request, *args, **kwargs)

        return check

    return decorate
