package com.example.orders;

import java.util.List;
import java.util.Map;
import org.springframework.http.HttpStatus;
import org.springframework.security.access.prepost.PreAuthorize;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.oauth2.jwt.Jwt;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

@RestController
class OrdersController {
  @GetMapping("/orders")
  @PreAuthorize("hasAuthority('SCOPE_orders:read')")
  Map<String, Object> list(@AuthenticationPrincipal Jwt token) {
    return Map.of("user", token.getSubject(), "orders", List.of());
  }

  @PostMapping("/orders")
  @ResponseStatus(HttpStatus.CREATED)
  @PreAuthorize("hasAuthority('SCOPE_orders:write')")
  Map<String, Object> create(@AuthenticationPrincipal Jwt token) {
    return Map.of("user", token.getSubject());
  }
}
