/**
 * Why a token is refused. `unreadable`: it is no JWT. `key`: none of the issuer's signs with its `kid`. `condition`: that of the
 * policy does not hold. `team`: that of the policy does not exist.
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
  'This token is not accepted: its issuer, audience, key, signature or claims are not those of the policy. The server’s log has the reason.';

/** What its sender can see in the token itself is told; of the policy a stranger learns nothing. */
const TEXTS: Readonly<Record<TokenRefusal, string>> = {
  unreadable: 'The token is no JSON Web Token, or was cut when it was copied.',
  algorithm: 'The token must be signed with RS256, PS256, ES256, EdDSA, or the same with a longer hash.',
  type: 'The token is of another type: `typ` must be `JWT` or `at+jwt`, or absent.',
  'no-expiry': 'The token does not expire: it needs the claim `exp`.',
  expired: 'The token has expired. Get a new one.',
  'not-yet': 'The token is not valid yet. Check the clocks.',
  'too-long': 'The token is valid for more than 24 hours. Ask its issuer for one of a shorter life.',
  'no-subject': 'The token names no subject: it needs the claim `sub`, of at most 1,024 characters.',
  issuer: ACCEPTED,
  audience: ACCEPTED,
  key: ACCEPTED,
  signature: ACCEPTED,
  condition: ACCEPTED,
  team: ACCEPTED,
};

/** The sentence that the sender of a refused token gets. */
export const tokenAdvice = (refusal: TokenRefusal): string => TEXTS[refusal];
