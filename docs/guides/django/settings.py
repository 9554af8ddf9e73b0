import os

SVC_ISSUER = os.environ["SVC_ISSUER"]
SVC_AUDIENCE = os.environ["SVC_AUDIENCE"]

ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
ROOT_URLCONF = "urls"
MIDDLEWARE = ["django.middleware.security.SecurityMiddleware"]
SECRET_KEY = os.environ["DJANGO_SECRET_KEY"]
