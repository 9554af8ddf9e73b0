package android.security.keystore;

import java.security.spec.AlgorithmParameterSpec;

public class KeyGenParameterSpec implements AlgorithmParameterSpec {
  public static class Builder {
    public Builder(String alias, int purposes) {}

    public Builder setAlgorithmParameterSpec(AlgorithmParameterSpec spec) {
      return this;
    }

    public Builder setDigests(String... digests) {
      return this;
    }

    public KeyGenParameterSpec build() {
      return new KeyGenParameterSpec();
    }
  }
}
