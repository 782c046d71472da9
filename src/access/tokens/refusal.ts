/**
 * Why a token is refused. `unreadable`: the token is not a JWT. `key`: no key of the issuer has its `kid`. `condition`: the condition in
 * the policy is false. `team`: the team in the policy does not exist.
 */
export type TokenRefusal =
  | 'unreadable'
  | 'algorithm'
  | 'type'
  | 'no-expiry'
  | 'expired'
  | 'not-yet'
  | 'too-long'
  | 'no-subject'
  | 'issuer'
  | 'audience'
  | 'key'
  | 'signature'
  | 'condition'
  | 'team';

const ACCEPTED =
  'This token is not accepted: its issuer, audience, key, signature or claims do not match the policy. The server’s log has the reason.';

/** These texts describe only what the sender can see in the token itself, so that a stranger learns nothing about the policy. */
const TEXTS: Readonly<Record<TokenRefusal, string>> = {
  unreadable: 'The token is not a JSON Web Token, or was cut when it was copied.',
  algorithm: 'The token must be signed with RS256, PS256, ES256, EdDSA, or the same with a longer hash.',
  type: 'The token has the wrong type: `typ` must be `JWT` or `at+jwt`, or absent.',
  'no-expiry': 'The token has no expiry. It needs the claim `exp`.',
  expired: 'The token has expired. Get a new one.',
  'not-yet': 'The token is not valid yet. Check the clocks of the issuer and the gateway.',
  'too-long':
    'The token is valid for more than 24 hours. Configure the issuer to create tokens with a shorter lifetime.',
  'no-subject': 'The token names no subject. It needs the claim `sub` with at most 1,024 characters.',
  issuer: ACCEPTED,
  audience: ACCEPTED,
  key: ACCEPTED,
  signature: ACCEPTED,
  condition: ACCEPTED,
  team: ACCEPTED,
};

/** The sentence for the sender of a refused token. */
export const tokenAdvice = (refusal: TokenRefusal): string => TEXTS[refusal];
