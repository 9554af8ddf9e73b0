import os
from urllib.parse import urlsplit

import uvicorn
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.routes import build_resource_metadata_url
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl
from starlette.middleware import Middleware

from svc_auth import AUDIENCE, ISSUER, GuardTools, SvcVerifier

METADATA_URL = str(build_resource_metadata_url(AnyHttpUrl(AUDIENCE)))

# Serves the metadata of the API (RFC 9728), and answers 401 with its address to a request without a token.
server = MCPServer(
    "orders",
    token_verifier=SvcVerifier(),
    auth=AuthSettings(
        issuer_url=ISSUER,
        resource_server_url=AUDIENCE,
        required_scopes=["orders:read"],
        validate_token_resource=True,
    ),
)


@server.tool()
def list_orders() -> str:
    """List the orders"""
    return f"orders of {get_access_token().subject}"


@server.tool()
def create_order() -> str:
    """Create an order"""
    return f"created by {get_access_token().subject}"


# The SDK answers 421 to requests for other hosts.
security = TransportSecuritySettings(allowed_hosts=[urlsplit(AUDIENCE).netloc, "127.0.0.1:*"])
app = server.streamable_http_app(stateless_http=True, json_response=True, transport_security=security)
# Last, so that it runs after the token was verified.
app.user_middleware.append(Middleware(GuardTools, METADATA_URL, {"create_*": "orders:write"}))

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "3000")))
