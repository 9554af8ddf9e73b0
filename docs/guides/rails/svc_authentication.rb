# frozen_string_literal: true

require "jwt"
require "net/http"

# Verifies the access tokens of svc: `before_action -> { require_ability "orders:read" }`.
module SvcAuthentication
  Caller = Struct.new(:id, :abilities, :claims) do
    def can?(ability) = abilities.include?(ability)
  end

  ISSUER = ENV.fetch("SVC_ISSUER")
  AUDIENCE = ENV.fetch("SVC_AUDIENCE")
  LOCK = Mutex.new
  Unavailable = Class.new(StandardError)

  # Keeps the keys for ten minutes. An unknown key id fetches them again, at most every 30 seconds.
  def self.keys(unknown:)
    LOCK.synchronize do
      age = Process.clock_gettime(Process::CLOCK_MONOTONIC) - (@fetched_at || -Float::INFINITY)
      fetch_keys if age > (unknown ? 30 : 600)
      @keys || raise(Unavailable)
    end
  end

  def self.fetch_keys
    @fetched_at = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    uri = URI("#{ISSUER}/.well-known/jwks.json")
    response = Net::HTTP.start(uri.host, uri.port, use_ssl: uri.scheme == "https", open_timeout: 5, read_timeout: 5) do |http|
      http.get(uri.path)
    end
    return unless response.is_a?(Net::HTTPOK)

    # The gem rejects a set that has a key of another type.
    keys = JSON.parse(response.body)["keys"].select { |key| %w[EC RSA].include?(key["kty"]) }
    @keys = JWT::JWK::Set.new("keys" => keys)
  rescue SystemCallError, SocketError, Timeout::Error, OpenSSL::SSL::SSLError, JSON::ParserError
    # The known keys stay in use while svc is unavailable.
  end

  private

  attr_reader :caller_of_svc

  def require_ability(ability)
    scheme, token = request.headers["Authorization"].to_s.split(" ", 2)
    return reject(:unauthorized, "Bearer") unless scheme&.casecmp?("bearer")

    @caller_of_svc = verify(token.to_s)
    return if caller_of_svc.can?(ability)

    reject(:forbidden, %(Bearer error="insufficient_scope", scope="#{ability}"))
  rescue JWT::DecodeError
    reject(:unauthorized, 'Bearer error="invalid_token"')
  rescue Unavailable
    response.headers["Retry-After"] = "1"
    render json: { message: "svc is unavailable." }, status: :service_unavailable
  end

  def verify(token)
    claims, header = JWT.decode(
      token, nil, true,
      algorithms: %w[ES256 RS256],
      jwks: ->(options) { SvcAuthentication.keys(unknown: options[:kid_not_found]) },
      iss: ISSUER, verify_iss: true,
      aud: AUDIENCE, verify_aud: true,
      required_claims: %w[exp iat sub],
      leeway: 5
    )
    # svc signs ID tokens with the same keys. A bearer does not prove the key of a DPoP-bound token.
    raise JWT::DecodeError, "not an access token for a bearer" if header["typ"] != "at+jwt" || claims.key?("cnf")

    Caller.new(claims["sub"], claims.fetch("scope", "").split, claims)
  end

  def reject(status, challenge)
    response.headers["WWW-Authenticate"] = challenge
    render json: { message: Rack::Utils::HTTP_STATUS_CODES[Rack::Utils.status_code(status)] }, status: status
  end
end
