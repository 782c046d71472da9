import { optional, text } from '../../core/define/fields.ts';
import { readAwsCredentials } from './aws-credentials.ts';
import { presignedUrl } from './sigv4.ts';
import { defineSource } from './source.ts';

/** The longest life of Bedrock's short-term key, s. */
const LIFE_MAX_S = 43_200;

/**
 * Bedrock's short-term key: a presigned call of `CallWithBearerToken`. Source: `@aws/bedrock-token-generator` 1.1.0, whose keys for the
 * same credentials and time are the same.
 */
export const aws = defineSource(
  'aws',
  'Short-term keys of Amazon Bedrock, signed with credentials of AWS.',
  {
    region: text('The region of the keys. A key is valid in one region.', {
      pattern: '^[a-z]{2,8}(?:-[a-z]+)+-\\d{1,2}$',
      expected: 'a region such as `eu-central-1`',
      example: 'eu-central-1',
    }),
    role_arn: optional(
      text('The role to assume with the credentials that were found. Default: none.', {
        pattern: '^arn:[a-z-]+:iam::\\d{12}:role/.{1,512}$',
        expected: 'the ARN of a role, such as `arn:aws:iam::123456789012:role/signalbox`',
        example: 'arn:aws:iam::123456789012:role/signalbox',
      }),
    ),
    external_id: optional(
      text('The external ID that the trust policy of `role_arn` requires. Default: none.', {
        minLength: 2,
        maxLength: 1224,
        example: 'signalbox-production',
      }),
    ),
  },
  async (settings, context) => {
    const { region } = settings;
    const { expiresAt, ...keys } = await readAwsCredentials(settings, context);
    const at = context.now();
    const lifeS = Math.min(LIFE_MAX_S, expiresAt === null ? LIFE_MAX_S : Math.floor((expiresAt - at) / 1_000));
    // The keeper reports credentials that have already ended.
    if (lifeS < 1) return { value: '', expiresAt };
    const request = { method: 'POST', url: 'https://bedrock.amazonaws.com/?Action=CallWithBearerToken' };
    const url = presignedUrl(request, { service: 'bedrock', region, at, keys }, lifeS);
    const key = Buffer.from(`${url.replace('https://', '')}&Version=1`).toString('base64');
    // The time of the signature has no milliseconds.
    return { value: `bedrock-api-key-${key}`, expiresAt: Math.floor(at / 1_000) * 1_000 + lifeS * 1_000 };
  },
);
