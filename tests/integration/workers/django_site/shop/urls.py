from django.urls import path, re_path
from django.views.static import serve
from orders import views

from .settings import BASE_DIR

urlpatterns = [
    path("", views.root, name="root"), path("hello/<str:name>/", views.hello, name="hello"), path("async/<int:number>", views.later),
    path("form", views.form), path("echo", views.echo), path("stream", views.stream),
    path("boom", views.boom), path("boom-async", views.boom_async), path("denied", views.denied), path("out-of-memory", views.out_of_memory), path("count", views.count),
    path("away", views.away), path("file", views.file), path("rows", views.rows), path("csrf", views.guarded),
    re_path("^static/(?P<path>.*)$", serve, {"document_root": BASE_DIR / "shop"}),
]
