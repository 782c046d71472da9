import type { CheckedExpression, Program, TextProgram } from '../cel/check.ts';
import type { CelKind } from '../cel/types.ts';
import type { ExpressionDraft } from '../check/expression-drafts.ts';
import type { SourceSpan } from '../report/diagnostics.ts';

/** A name that a case or guard sends as `model`. */
export interface SentName {
  readonly name: string;
  readonly place: SourceSpan;
}

/** A key label that a policy names, with its location. */
export interface NamedLabel {
  readonly label: string;
  readonly place: SourceSpan;
  readonly path: string;
}

/** Checks the expressions of one policy. Each check of an expression returns null for an absent or wrong expression. */
export interface ExpressionChecker {
  /** Checks a name that callers send. A name that callers send may be known only from public figures. */
  sent(name: SentName): void;
  /** Checks the ID of a model that an issuer of tokens admits. */
  model(name: SentName): void;
  /** Checks the key label that metrics use. */
  metered(label: NamedLabel): void;
  /**
   * Checks an expression over the catalog. An expression with an unknown name matches no model, and `of` does not report this second
   * problem.
   */
  of(draft: ExpressionDraft | null, kind: CelKind): Program | null;
  /** Checks the condition of a rule, budget or rate limit. */
  condition(draft: ExpressionDraft | null, kind: 'when' | 'guard' | 'budget' | 'limit'): Program | null;
  each(draft: ExpressionDraft | null, kind: 'budget' | 'limit'): TextProgram | null;
  /** Checks a condition on the claims of a token. A condition on claims that fails counts as false, so failures need no warning. */
  ofClaims(draft: ExpressionDraft | null): Program | null;
  /** Checks an expression that makes a text from the claims of a token. */
  textOfClaims(draft: ExpressionDraft | null): TextProgram | null;
  /**
   * Reviews the expressions for the tokens of one issuer together, because one expression can reveal the type of a claim that another
   * expression reads.
   */
  claimsOfIssuer(programs: readonly (CheckedExpression<unknown> | null)[]): void;
}
