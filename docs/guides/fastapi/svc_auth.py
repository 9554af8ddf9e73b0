"""Verifies the access tokens of svc."""

import os
from dataclasses import dataclass
from typing import Annotated

import jwt
from fastapi import Depends, HTTPException
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

ISSUER = os.environ["SVC_ISSUER"]
AUDIENCE = os.environ["SVC_AUDIENCE"]

# Cached for ten minutes. An unknown key id fetches the keys again, at most every 30 seconds.
keys = jwt.PyJWKClient(f"{ISSUER}/.well-known/jwks.json", lifespan=600, timeout=5, cooldown_duration=30)
bearer = HTTPBearer(auto_error=False)


@dataclass(frozen=True)
class Caller:
    id: str
    abilities: frozenset[str]
    claims: dict

    def can(self, ability: str) -> bool:
        return ability in self.abilities


def unauthorized(challenge: str = "Bearer") -> HTTPException:
    return HTTPException(401, "Unauthenticated.", {"WWW-Authenticate": challenge})


def authenticate(credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]) -> Caller:
    if credentials is None:
        raise unauthorized()
    token = credentials.credentials
    try:
        verified = jwt.decode_complete(
            token,
            keys.get_signing_key_from_jwt(token),
            algorithms=["ES256", "RS256", "EdDSA"],
            issuer=ISSUER,
            audience=AUDIENCE,
            leeway=5,
            options={"require": ["exp", "iat", "sub"]},
        )
    except jwt.PyJWKClientConnectionError as error:
        raise HTTPException(503, "svc is unavailable.", {"Retry-After": "1"}) from error
    except jwt.PyJWTError as error:
        raise unauthorized('Bearer error="invalid_token"') from error
    claims = verified["payload"]
    # svc signs ID tokens with the same keys. A bearer does not prove the key of a DPoP-bound token.
    if verified["header"].get("typ") != "at+jwt" or "cnf" in claims:
        raise unauthorized('Bearer error="invalid_token"')
    return Caller(claims["sub"], frozenset(claims.get("scope", "").split()), claims)


def requires(ability: str):
    """A dependency that returns the caller if it has the ability."""

    def check(caller: Annotated[Caller, Depends(authenticate)]) -> Caller:
        if not caller.can(ability):
            challenge = f'Bearer error="insufficient_scope", scope="{ability}"'
            raise HTTPException(403, "Forbidden", {"WWW-Authenticate": challenge})
        return caller

    return check
