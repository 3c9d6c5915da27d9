import asyncio

from django.core.exceptions import PermissionDenied
from django.db import connection
from django.http import FileResponse, HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt

OutOfGpuMemory = type("OutOfMemoryError", (RuntimeError,), {"__module__": "torch"})  # as PyTorch's


def root(request):
    return JsonResponse({"absolute": request.build_absolute_uri(reverse("hello", args=["a b"])), "secure": request.is_secure(),
                         "host": request.get_host(), "path": request.get_full_path(), "q": dict(request.GET),
                         "meta": [request.META.get(name) for name in ("SCRIPT_NAME", "REMOTE_ADDR", "QUERY_STRING", "CONTENT_LENGTH")]})


def hello(request, name):
    return HttpResponse(f"hello {name}")


async def later(request, number):
    await asyncio.sleep(0.001)
    return JsonResponse({"twice": 2 * number})


@csrf_exempt
def form(request):
    files = {name: [file.name, file.content_type, file.size, sum(file.read())] for name, file in request.FILES.items()}
    return JsonResponse({"form": request.POST.dict(), "files": files})


@csrf_exempt
def echo(request):
    return HttpResponse(request.body, content_type=request.content_type)


def guarded(request):
    return HttpResponse("never without a token")


def stream(request):
    return StreamingHttpResponse((b"%d\n" % number for number in range(5)), content_type="text/plain")


def boom(request):
    raise ValueError("boom")


async def boom_async(request):
    raise ValueError("boom")


def out_of_memory(request):
    raise OutOfGpuMemory("CUDA out of memory. Tried to allocate 20.00 GiB")


def denied(request):
    raise PermissionDenied


def count(request):
    request.session["count"] = request.session.get("count", 0) + 1
    return JsonResponse({"count": request.session["count"]})


def away(request):
    return redirect("hello", name="you")


def file(request):
    return FileResponse(open(__file__, "rb"), as_attachment=True, filename="a.py")


def rows(request):
    with connection.cursor() as cursor:
        cursor.execute("select 1 + 1")
        return JsonResponse({"rows": cursor.fetchall()})
