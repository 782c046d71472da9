import type { KeyLimits, Scope } from './caller.ts';

/** The claims of a token whose signature was checked. */
export type Claims = Readonly<Record<string, unknown>>;

/** A set of public keys as JSON (RFC 7517). Their form is checked. */
export interface KeySet {
  readonly keys: readonly Readonly<Record<string, unknown>>[];
}

/** Where the public keys of an issuer come from. */
export type IssuerKeys =
  /** The document of OpenID Connect below the issuer names them, at its own host. `url`: that of the document. */
  | { readonly from: 'discovery'; readonly url: string; readonly allowPrivate: boolean }
  | { readonly from: 'url'; readonly url: string; readonly allowPrivate: boolean }
  /** They stand in the policy, or in a variable of it; null where that is not set. */
  | { readonly from: 'policy'; readonly set: KeySet | null };

/** An issuer of tokens, with the terms of those who send one. */
export interface TokenIssuer {
  /** Its name in the policy. */
  readonly name: string;
  /** `iss`, letter by letter. */
  readonly issuer: string;
  /** A token is for one of them at least. */
  readonly audiences: readonly string[];
  /** Whether a token is admitted. May throw, and then it is not: unlike a rule, it opens a gate. */
  readonly when: (claims: Claims) => boolean;
  /** Whether a subject is an administrator; null for none. May throw, and then it is not. */
  readonly admin: ((claims: Claims) => boolean) | null;
  /** Label → its value. May throw, and then the subject lacks the label. */
  readonly labels: ReadonlyMap<string, (claims: Claims) => string>;
  /** The name of a subject's team; null for none. May throw, and then the token is not admitted: a team bounds what it may. */
  readonly team: ((claims: Claims) => string) | null;
  readonly scopes: readonly Scope[];
  /** IDs of the models that subjects may use; null for all. */
  readonly models: ReadonlySet<string> | null;
  /** Of each subject; null for none. */
  readonly limits: KeyLimits | null;
  readonly keys: IssuerKeys;
  /** All that is stated of it, as a text: equal for two policies under which the same tokens mean the same. */
  readonly definition: string;
}
