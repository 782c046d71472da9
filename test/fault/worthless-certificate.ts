/**
 * A self-signed certificate and its key, only for tests. `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days
 * 36500 -subj /CN=worthless.invalid -addext subjectAltName=IP:127.0.0.1`
 */
export const WORTHLESS_CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBoDCCAUagAwIBAgIUAW3kaTCT9DQNFhenz+hTyGba/MswCgYIKoZIzj0EAwIw
HDEaMBgGA1UEAwwRd29ydGhsZXNzLmludmFsaWQwIBcNMjYxMTIwMTM0NjUwWhgP
MjEyNjEwMjcxMzQ2NTBaMBwxGjAYBgNVBAMMEXdvcnRobGVzcy5pbnZhbGlkMFkw
EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEht7OBneTZTuMUPbucGbb3ua4VMQhk0Vi
GIOPQt2nlzZhTAAPsUbi4tjHFyur7FJHRQ0r1NIjnQa+2HKXPD0HMaNkMGIwHQYD
VR0OBBYEFEXOJFk5tdvXhNPh0Yvedr87lv26MB8GA1UdIwQYMBaAFEXOJFk5tdvX
hNPh0Yvedr87lv26MA8GA1UdEwEB/wQFMAMBAf8wDwYDVR0RBAgwBocEfwAAATAK
BggqhkjOPQQDAgNIADBFAiEAkPchsB3sn33PjGU5BqFM76CUMaNVnx2nhZzMZ8b/
mKcCIAVb1TgFpMgaapFc6dT2vF8qazdUe3OvSsbWOdfDDXJu
-----END CERTIFICATE-----
`;

export const WORTHLESS_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQguQz0i7tcQVzMgi+B
/1EnooG8halZEbBTwkE8cIKWdQyhRANCAASG3s4Gd5NlO4xQ9u5wZtve5rhUxCGT
RWIYg49C3aeXNmFMAA+xRuLi2McXK6vsUkdFDSvU0iOdBr7Ycpc8PQcx
-----END PRIVATE KEY-----
`;
