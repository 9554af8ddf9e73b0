using Microsoft.AspNetCore.Authentication.JwtBearer;
using Microsoft.AspNetCore.Authorization;

var builder = WebApplication.CreateBuilder(args);
var issuer = builder.Configuration["SVC_ISSUER"] ?? throw new InvalidOperationException("SVC_ISSUER is missing.");
var audience = builder.Configuration["SVC_AUDIENCE"] ?? throw new InvalidOperationException("SVC_AUDIENCE is missing.");

builder.Services.AddAuthentication(JwtBearerDefaults.AuthenticationScheme).AddJwtBearer(options =>
{
    options.Authority = issuer;
    options.MapInboundClaims = false;
    options.RequireHttpsMetadata = !builder.Environment.IsDevelopment();
    // An unknown key id fetches the keys again, at most every 30 seconds.
    options.RefreshInterval = TimeSpan.FromSeconds(30);
    options.TokenValidationParameters.ValidIssuer = issuer;
    options.TokenValidationParameters.ValidAudience = audience;
    // svc signs ID tokens with the same keys, so the type decides.
    options.TokenValidationParameters.ValidTypes = ["at+jwt"];
    options.TokenValidationParameters.ValidAlgorithms = ["ES256", "RS256"];
    options.TokenValidationParameters.ClockSkew = TimeSpan.FromSeconds(5);
    options.TokenValidationParameters.NameClaimType = "sub";
    options.TokenValidationParameters.RoleClaimType = "role";
});
builder.Services.AddAuthorization(options =>
{
    foreach (var scope in new[] { "orders:read", "orders:write" })
    {
        options.AddPolicy(scope, policy => policy.RequireAssertion(context => Can(context, scope)));
    }
});

var app = builder.Build();
app.UseAuthentication();
app.UseAuthorization();
app.MapGet("/orders", (HttpContext http) => new { user = http.User.Identity?.Name, orders = Array.Empty<object>() })
    .RequireAuthorization("orders:read");
app.MapPost("/orders", (HttpContext http) => Results.Json(new { user = http.User.Identity?.Name }, statusCode: 201))
    .RequireAuthorization("orders:write");
app.Run();

// A bearer does not prove the key of a DPoP-bound token.
static bool Can(AuthorizationHandlerContext context, string scope) =>
    context.User.FindFirst("cnf") is null
    && context.User.FindFirst("scope")?.Value.Split(' ').Contains(scope) == true;
