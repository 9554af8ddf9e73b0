"""An MCP client of the official SDK, which a test drives by lines of JSON: it prints URLs for the browser and results."""

import asyncio
import json
import sys

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata

setup = json.loads(sys.argv[1])
registered = setup.get("client_id")


def say(**message):
    print(json.dumps(message), flush=True)


async def listen():
    return json.loads(await asyncio.to_thread(sys.stdin.readline))


class Storage:
    tokens = None
    client_info = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens
        say(scope=tokens.scope)

    async def get_client_info(self):
        return self.client_info

    async def set_client_info(self, info):
        self.client_info = info


async def redirect(url):
    say(url=url)


async def callback():
    return AuthorizationCodeResult(**await listen())


async def main():
    metadata = OAuthClientMetadata(
        client_name="Python agent",
        redirect_uris=[setup["redirect_uri"]],
        grant_types=["authorization_code", "refresh_token"],
        token_endpoint_auth_method="none",
    )
    storage = Storage()
    if registered:
        storage.client_info = OAuthClientInformationFull(client_id=registered, **metadata.model_dump())
    auth = OAuthClientProvider(
        setup["server"], metadata, storage, redirect, callback, client_metadata_url=setup.get("client_metadata_url")
    )
    async with httpx2.AsyncClient(auth=auth, timeout=30) as http:
        async with Client(streamable_http_client(setup["server"], http_client=http)) as client:
            say(ready=True)
            while True:
                asked = await listen()
                if "expire" in asked:
                    auth.context.token_expiry_time = 1
                    continue
                if "tool" not in asked:
                    return
                try:
                    result = await client.call_tool(asked["tool"], {})
                    say(text=result.content[0].text)
                except Exception as error:
                    say(error=repr(error))


asyncio.run(main())
