from typing import Annotated

from fastapi import Depends, FastAPI

from svc_auth import Caller, requires

app = FastAPI()


@app.get("/orders")
def list_orders(caller: Annotated[Caller, Depends(requires("orders:read"))]):
    return {"user": caller.id, "orders": []}


@app.post("/orders", status_code=201)
def create_order(caller: Annotated[Caller, Depends(requires("orders:write"))]):
    return {"user": caller.id}
