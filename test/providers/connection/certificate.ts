/**
 * A self-signed certificate for `api.example` and its key, only for tests.
 * `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500
 * -subj /CN=worthless.invalid -addext subjectAltName=DNS:api.example`
 */
export const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBpjCCAU2gAwIBAgIUVk6/q8Z5Lrr4rdU8pCEIx4Pr+CowCgYIKoZIzj0EAwIw
HDEaMBgGA1UEAwwRd29ydGhsZXNzLmludmFsaWQwIBcNMjYxMTIwMTM1OTE2WhgP
MjEyNjEwMjcxMzU5MTZaMBwxGjAYBgNVBAMMEXdvcnRobGVzcy5pbnZhbGlkMFkw
EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEK52LIbWqdc6/T9xIWTf7KTdxRr1XxWGR
4O+WKJcT3pqQH3ea/8js/E67DJJbMXudT0+YZZ/5O5rC6qGaWN4WHqNrMGkwHQYD
VR0OBBYEFKU0PuTg8Ir6b9DD/VrdvRLss9fjMB8GA1UdIwQYMBaAFKU0PuTg8Ir6
b9DD/VrdvRLss9fjMA8GA1UdEwEB/wQFMAMBAf8wFgYDVR0RBA8wDYILYXBpLmV4
YW1wbGUwCgYIKoZIzj0EAwIDRwAwRAIgQw1EmU2N6SpDlhOwV4mrZL/xttnXqt3C
wDQt8ezoiosCIBHGPo+L4jiE7rXH97F7Rm8daRKMd96+VGANUWlnesKX
-----END CERTIFICATE-----
`;

export const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgcVWhkMBxteSH/7bP
xRGogJGZFBbkk2g2AZPsYpH/CeahRANCAAQrnYshtap1zr9P3EhZN/spN3FGvVfF
YZHg75YolxPempAfd5r/yOz8TrsMklsxe51PT5hln/k7msLqoZpY3hYe
-----END PRIVATE KEY-----
`;
