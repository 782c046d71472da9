import { lazy } from '../../core/lazy.ts';
import type { Caller } from '../../core/people/caller.ts';
import type { TokenIssuer } from '../../core/people/token-issuer.ts';
import { answerSecretOf } from './subject.ts';
import type { TokenCheck, TokenChecks, TokenChecksOptions } from './token-checks.ts';

interface TokensOptions extends TokenChecksOptions {
  /** The secret of the store. */
  readonly secret: Uint8Array;
  /** The age of this instance's copy of the blocked subjects, ms. */
  readonly blocksAge: () => number;
}

/** The tokens of workloads. Only the first token loads `TokenChecks` with its library, which most servers never need. */
export class Tokens {
  readonly #options: TokensOptions;
  readonly #loaded: () => Promise<TokenChecks>;
  #checks: TokenChecks | null = null;

  constructor(options: TokensOptions) {
    this.#options = options;
    this.#loaded = lazy(async () => {
      const { TokenChecks } = await import('./token-checks.ts');
      this.#checks = new TokenChecks(options);
      return this.#checks;
    });
  }

  /** The age of the copy of the blocked subjects, with which callers are checked, ms. */
  get ageMs(): number {
    return this.#options.blocksAge();
  }

  /** Returns the secret with which the stored answers of a subject are encrypted. */
  readonly answerSecretOf = (id: string): string => answerSecretOf(this.#options.secret, id);

  /** Returns the caller of a token that was checked before; null for any other token. Cheap. */
  find(token: string, issuers: readonly TokenIssuer[]): Caller | null {
    return this.#checks?.find(token, issuers) ?? null;
  }

  /** Checks a token like `TokenChecks.check`. */
  async check(...args: Parameters<TokenChecks['check']>): Promise<TokenCheck> {
    return (await this.#loaded()).check(...args);
  }
}
