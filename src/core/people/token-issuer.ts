import type { KeyLimits, Scope } from './caller.ts';

/** The claims of a token whose signature was verified. */
export type Claims = Readonly<Record<string, unknown>>;

/** A JSON set of public keys (RFC 7517) whose form was checked. */
export interface KeySet {
  readonly keys: readonly Readonly<Record<string, unknown>>[];
}

/** Where the public keys of an issuer come from. */
export type IssuerKeys =
  /**
   * The issuer's OpenID Connect discovery document names the keys, which must be on the issuer's own host. `url` is the URL of the
   * document.
   */
  | { readonly from: 'discovery'; readonly url: string; readonly allowPrivate: boolean }
  | { readonly from: 'url'; readonly url: string; readonly allowPrivate: boolean }
  /** The policy states the keys, or an environment variable that it names; null if the variable is not set. */
  | { readonly from: 'policy'; readonly set: KeySet | null };

/** An issuer of tokens, with the terms for callers who send its tokens. */
export interface TokenIssuer {
  /** The name of the issuer in the policy. */
  readonly name: string;
  /** Exact value of the claim `iss`. */
  readonly issuer: string;
  /** A token must be for at least one of these audiences. */
  readonly audiences: readonly string[];
  /** Whether a token is admitted. If the condition `when` throws, the token is refused, because an error must not grant access. */
  readonly when: (claims: Claims) => boolean;
  /**
   * Whether the token's subject is an administrator; null for no subject. If the condition `admin` throws, the subject is no administrator.
   */
  readonly admin: ((claims: Claims) => boolean) | null;
  /** Maps each label to its value. If an expression throws, the subject lacks the label. */
  readonly labels: ReadonlyMap<string, (claims: Claims) => string>;
  /**
   * The name of the subject's team; null for none. If the expression throws, the token is refused, because the team's limits would
   * otherwise not apply.
   */
  readonly team: ((claims: Claims) => string) | null;
  readonly scopes: readonly Scope[];
  /** IDs of the models that subjects may use; null for all. */
  readonly models: ReadonlySet<string> | null;
  /** Limits of each subject; null for none. */
  readonly limits: KeyLimits | null;
  readonly keys: IssuerKeys;
  /** All settings of the issuer, as one text. If two policies have the same `definition`, tokens have the same meaning under both. */
  readonly definition: string;
}
