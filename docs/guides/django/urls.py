from django.http import JsonResponse
from django.urls import path
from django.views.decorators.http import require_GET, require_POST

from svc_auth import requires


@require_GET
@requires("orders:read")
def list_orders(request):
    return JsonResponse({"user": request.caller.id, "orders": []})


@require_POST
@requires("orders:write")
def create_order(request):
    return JsonResponse({"user": request.caller.id}, status=201)


def orders(request):
    return create_order(request) if request.method == "POST" else list_orders(request)


urlpatterns = [path("orders", orders)]
