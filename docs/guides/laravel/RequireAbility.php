<?php

namespace App\Http\Middleware;

use Closure;
use Firebase\JWT\CachedKeySet;
use Firebase\JWT\JWT;
use GuzzleHttp\Client;
use GuzzleHttp\Psr7\HttpFactory;
use Illuminate\Auth\GenericUser;
use Illuminate\Http\Request;
use stdClass;
use Symfony\Component\Cache\Adapter\FilesystemAdapter;
use Symfony\Component\HttpFoundation\Response;
use Throwable;

/** Verifies the access tokens of svc: `->middleware('ability:orders:read')`. */
class RequireAbility
{
    public function handle(Request $request, Closure $next, string ...$parts): Response
    {
        // Laravel separates parameters by commas, so a colon stays in the name.
        $ability = implode(',', $parts);
        $token = $request->bearerToken();
        if ($token === null || $token === '') {
            return $this->reject(401, 'Bearer');
        }
        try {
            $claims = $this->verify($token);
        } catch (Throwable $error) {
            report($error);

            return $this->reject(401, 'Bearer error="invalid_token"');
        }
        $abilities = explode(' ', $claims->scope ?? '');
        if (! in_array($ability, $abilities, true)) {
            return $this->reject(403, "Bearer error=\"insufficient_scope\", scope=\"$ability\"");
        }
        $request->setUserResolver(fn () => new GenericUser(['id' => $claims->sub, 'abilities' => $abilities]));

        return $next($request);
    }

    private function verify(string $token): stdClass
    {
        ['issuer' => $issuer, 'audience' => $audience] = config('services.svc');
        // Cached for ten minutes. The last argument limits how often unknown key ids fetch the keys.
        $keys = new CachedKeySet(
            "$issuer/.well-known/jwks.json",
            new Client(['timeout' => 5, 'allow_redirects' => false]),
            new HttpFactory,
            new FilesystemAdapter('svc'),
            600,
            true,
        );
        JWT::$leeway = 5;
        $headers = new stdClass;
        // The key set names the algorithm of each key, so the token cannot choose it.
        $claims = JWT::decode($token, $keys, $headers);
        $valid = ($headers->typ ?? null) === 'at+jwt'
            && ($claims->iss ?? null) === $issuer
            && in_array($audience, (array) ($claims->aud ?? []), true)
            && is_int($claims->exp ?? null)
            && is_string($claims->sub ?? null)
            // A bearer does not prove the key of a DPoP-bound token.
            && ! isset($claims->cnf);

        return $valid ? $claims : throw new \UnexpectedValueException('Not an access token for this API.');
    }

    private function reject(int $status, string $challenge): Response
    {
        $message = $status === 401 ? 'Unauthenticated.' : 'Forbidden';

        return response()->json(['message' => $message], $status, ['WWW-Authenticate' => $challenge]);
    }
}
