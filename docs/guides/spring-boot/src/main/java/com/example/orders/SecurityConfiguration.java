package com.example.orders;

import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.proc.DefaultJOSEObjectTypeVerifier;
import java.util.List;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.method.configuration.EnableMethodSecurity;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.config.annotation.web.configurers.AbstractHttpConfigurer;
import org.springframework.security.config.http.SessionCreationPolicy;
import org.springframework.security.oauth2.jose.jws.SignatureAlgorithm;
import org.springframework.security.oauth2.jwt.JwtClaimValidator;
import org.springframework.security.oauth2.jwt.JwtDecoder;
import org.springframework.security.oauth2.jwt.JwtIssuerValidator;
import org.springframework.security.oauth2.jwt.JwtValidators;
import org.springframework.security.oauth2.jwt.NimbusJwtDecoder;
import org.springframework.security.web.SecurityFilterChain;

@Configuration
@EnableMethodSecurity
class SecurityConfiguration {
  @Bean
  SecurityFilterChain security(HttpSecurity http) throws Exception {
    return http
        // The API reads no cookies, so there is nothing to forge.
        .csrf(AbstractHttpConfigurer::disable)
        .sessionManagement(session -> session.sessionCreationPolicy(SessionCreationPolicy.STATELESS))
        .authorizeHttpRequests(requests -> requests.anyRequest().authenticated())
        .oauth2ResourceServer(server -> server.jwt(Customizer.withDefaults()))
        .build();
  }

  @Bean
  JwtDecoder jwtDecoder(@Value("${svc.issuer}") String issuer, @Value("${svc.audience}") String audience) {
    // svc signs ID tokens with the same keys, so the type decides.
    var accessToken = new DefaultJOSEObjectTypeVerifier<>(new JOSEObjectType("at+jwt"));
    var decoder = NimbusJwtDecoder.withJwkSetUri(issuer + "/.well-known/jwks.json")
        .jwsAlgorithms(algorithms -> algorithms.addAll(List.of(SignatureAlgorithm.ES256, SignatureAlgorithm.RS256)))
        .jwtProcessorCustomizer(processor -> processor.setJWSTypeVerifier(accessToken::verify))
        .build();
    decoder.setJwtValidator(JwtValidators.createDefaultWithValidators(
        new JwtIssuerValidator(issuer),
        new JwtClaimValidator<List<String>>("aud", values -> values != null && values.contains(audience)),
        // A bearer does not prove the key of a DPoP-bound token.
        new JwtClaimValidator<Object>("cnf", value -> value == null)));
    return decoder;
  }
}
