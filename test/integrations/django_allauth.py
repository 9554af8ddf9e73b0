"""The site of docs/integrations/django-allauth.md in one file."""

import os
import sys

from django.conf import settings

ISSUER, SITE = os.environ["SVC_ISSUER"], os.environ["SITE"]

settings.configure(
    DEBUG=True,
    SECRET_KEY="only for this test",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    USE_TZ=True,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "site.sqlite3"}},
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
        }
    ],
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "django.contrib.messages",
        "allauth",
        "allauth.account",
        "allauth.socialaccount",
        "allauth.socialaccount.providers.openid_connect",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
        "allauth.account.middleware.AccountMiddleware",
    ],
    AUTHENTICATION_BACKENDS=[
        "django.contrib.auth.backends.ModelBackend",
        "allauth.account.auth_backends.AuthenticationBackend",
    ],
    LOGIN_REDIRECT_URL="/me",
    SOCIALACCOUNT_ONLY=True,
    ACCOUNT_EMAIL_VERIFICATION="none",
    SOCIALACCOUNT_LOGIN_ON_GET=True,
    SOCIALACCOUNT_ADAPTER=f"{__name__}.SvcAdapter",
    SOCIALACCOUNT_PROVIDERS={
        "openid_connect": {
            "OAUTH_PKCE_ENABLED": True,
            "APPS": [
                {
                    "provider_id": "svc",
                    "name": "Example",
                    "client_id": "django",
                    "secret": os.environ["CLIENT_SECRET"],
                    "settings": {
                        "server_url": ISSUER,
                        "scope": ["openid", "profile", "email", "groups"],
                        "uid_field": "sub",
                    },
                }
            ],
        }
    },
)

import django  # noqa: E402

django.setup()

from allauth.account.signals import user_logged_in  # noqa: E402
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter  # noqa: E402
from django.contrib.auth.models import Group  # noqa: E402
from django.core.exceptions import PermissionDenied  # noqa: E402
from django.core.management import execute_from_command_line  # noqa: E402
from django.dispatch import receiver  # noqa: E402
from django.http import JsonResponse  # noqa: E402
from django.urls import include, path  # noqa: E402


def groups_of(sociallogin):
    return sociallogin.account.extra_data.get("userinfo", {}).get("groups", [])


class SvcAdapter(DefaultSocialAccountAdapter):
    def pre_social_login(self, request, sociallogin):
        if "staff" not in groups_of(sociallogin):
            raise PermissionDenied


@receiver(user_logged_in)
def copy_groups(request, user, sociallogin=None, **kwargs):
    if sociallogin is None:
        return
    names = groups_of(sociallogin)
    user.groups.set([Group.objects.get_or_create(name=name)[0] for name in names])
    user.is_staff = user.is_superuser = "site-admins" in names
    user.save()


def me(request):
    user = request.user
    groups = [] if user.is_anonymous else sorted(user.groups.values_list("name", flat=True))
    return JsonResponse({"username": user.get_username(), "groups": groups, "admin": user.is_superuser})


urlpatterns = [path("accounts/", include("allauth.urls")), path("me", me)]

execute_from_command_line(["site", "migrate", "--verbosity=0"])
execute_from_command_line(["site", "runserver", "--noreload", SITE])
