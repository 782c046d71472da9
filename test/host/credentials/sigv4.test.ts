import { expect, test } from 'bun:test';
import { aws } from '../../../src/host/credentials/aws.ts';
import { signedHeaders } from '../../../src/host/credentials/sigv4.ts';
import { processTimers } from '../../../src/host/telemetry/process-timers.ts';

/** The credentials, time and results of AWS's test suite for Signature Version 4. */
const KEYS = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  sessionToken: null,
};
const AT = Date.parse('2015-08-30T12:36:00Z');
const URL_OF_SUITE = 'https://example.amazonaws.com/';
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

const VECTORS = {
  'get-vanilla': [
    { method: 'GET', url: URL_OF_SUITE },
    'host;x-amz-date',
    '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
  ],
  'post-vanilla': [
    { method: 'POST', url: URL_OF_SUITE },
    'host;x-amz-date',
    '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
  ],
  'get-vanilla-query-order-key-case': [
    { method: 'GET', url: `${URL_OF_SUITE}?Param2=value2&Param1=value1` },
    'host;x-amz-date',
    'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  ],
  'post-x-www-form-urlencoded': [
    { method: 'POST', url: URL_OF_SUITE, headers: FORM, body: 'Param1=value1' },
    'content-type;host;x-amz-date',
    'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
  ],
} as const;

for (const [name, [request, names, signature]] of Object.entries(VECTORS)) {
  test(`a signature equals that of AWS's test suite: ${name}`, () => {
    const scope = { service: 'service', region: 'us-east-1', at: AT, keys: KEYS };
    expect(signedHeaders(request, scope)).toMatchObject({
      'x-amz-date': '20150830T123600Z',
      authorization: `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=${names}, Signature=${signature}`,
    });
  });
}

/** The keys that `getToken` of `@aws/bedrock-token-generator` 1.1.0 makes at 2026-11-20T09:30:00Z, without `bedrock-api-key-`. */
const GENERATED = [
  [
    { region: 'us-east-1', sessionToken: null, lifeS: 43_200 },
    'bedrock.amazonaws.com/?Action=CallWithBearerToken&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIDEXAMPLE%2F20261120%2Fus-east-1%2Fbedrock%2Faws4_request&X-Amz-Date=20261120T093000Z&X-Amz-Expires=43200&X-Amz-Signature=9554d486aacade265233652ac278fd35b1fe9c2e917790da9786a41804f08cf4&X-Amz-SignedHeaders=host&Version=1',
  ],
  [
    { region: 'eu-central-1', sessionToken: 'IQoJb3JpZ2luX2VjE+/=A', lifeS: 3_600 },
    'bedrock.amazonaws.com/?Action=CallWithBearerToken&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=ASIDEXAMPLE%2F20261120%2Feu-central-1%2Fbedrock%2Faws4_request&X-Amz-Date=20261120T093000Z&X-Amz-Expires=3600&X-Amz-Security-Token=IQoJb3JpZ2luX2VjE%2B%2F%3DA&X-Amz-Signature=534ebc05ce64ffb1c739dd81616cd0e2077db9db3892a65b9c2bd64fb593bc87&X-Amz-SignedHeaders=host&Version=1',
  ],
] as const;

for (const [{ region, sessionToken, lifeS }, url] of GENERATED) {
  test(`Bedrock's short-term key equals that of AWS's own generator: ${region}`, async () => {
    const at = Date.parse('2026-11-20T09:30:00Z');
    const unused = () => Promise.reject(new Error('not for this test'));
    const expiration = new Date(at + lifeS * 1_000).toISOString();
    const credentials = { AccessKeyId: 'ASIDEXAMPLE', SecretAccessKey: KEYS.secretAccessKey, Token: sessionToken };
    const variables: Record<string, string> =
      sessionToken === null
        ? { AWS_ACCESS_KEY_ID: KEYS.accessKeyId, AWS_SECRET_ACCESS_KEY: KEYS.secretAccessKey }
        : { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/credentials' };
    const fetchToken = aws.open(
      { region },
      {
        now: () => at,
        timers: processTimers,
        env: (name) => variables[name],
        secret: (name) => variables[name],
        call: unused,
        callMetadata: async () => ({
          status: 200,
          text: JSON.stringify({ ...credentials, Expiration: expiration }),
        }),
      },
    );
    const { value, expiresAt } = await fetchToken();
    expect(value.startsWith('bedrock-api-key-')).toBe(true);
    expect(Buffer.from(value.slice('bedrock-api-key-'.length), 'base64').toString()).toBe(url);
    expect(expiresAt).toBe(at + lifeS * 1_000);
  });
}
