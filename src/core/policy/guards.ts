import type { SourcePlace } from '../source-place.ts';
import type { CallerFacts } from '../tables/facts/caller.ts';
import type { GuardFacts } from '../tables/facts/guarded.ts';
import type { GuardSide, GuardWindowKind } from './guard-texts.ts';

/** The facts with which a policy decides whether a guard inspects a request. A missing header, label or metadata key reads as ''. */
export interface GuardScope extends CallerFacts {
  readonly request: GuardFacts;
}

/** `block` refuses the request or ends the answer. `mask` replaces what was found. `flag` only counts it. */
export type GuardAction = 'block' | 'mask' | 'flag';

/** Content that no guard can read. `encrypted` is state that only its model can read. `tokens` are inputs of embeddings. */
export const UNREADABLE = ['images', 'audio', 'files', 'tokens', 'encrypted'] as const;
export type Unreadable = (typeof UNREADABLE)[number];

/** Places of an answer in which a placeholder can become the caller's value again. */
export const UNMASK_PLACES = ['text', 'tool_arguments'] as const;
export type UnmaskPlace = (typeof UNMASK_PLACES)[number];

/** The service that a guard calls. A variable is read when the policy is loaded. */
export interface GuardServiceRule {
  /** The address without a slash at its end. */
  readonly url: string;
  readonly apiKeyEnv: string | null;
  /** Whether the service may be on this machine or in a private network. */
  readonly allowPrivate: boolean;
}

/** A guard of the policy. */
export interface GuardRule {
  readonly name: string;
  readonly place: SourcePlace;
  /** The name of the plugin, and its checked settings. */
  readonly plugin: string;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly isPure: boolean;
  readonly window: GuardWindowKind;
  /** Whether the guard inspects a request; null for every request. If `when` throws, the guard inspects the request. */
  readonly when: ((scope: GuardScope) => boolean) | null;
  readonly on: readonly GuardSide[];
  readonly onMatch: GuardAction;
  /** The reaction to a failure of the guard. `flag` only counts the failure. */
  readonly onFailure: 'block' | 'flag';
  /** The longest time for one request or answer, ms. */
  readonly deadlineMs: number;
  /** Whether a stream shows nothing before the guard has inspected the whole answer. */
  readonly buffersWhole: boolean;
  readonly unmask: readonly UnmaskPlace[];
  /** Kinds of content for which the guard refuses a request, because it cannot read them. */
  readonly refuse: readonly Unreadable[];
  /** Absent if the guard calls no service. */
  readonly service?: GuardServiceRule;
  /** The model or selector that the guard calls; absent for none. */
  readonly model?: string;
  /** The steps of the guard's patterns; absent for none. */
  readonly patternSteps?: number;
}

/** The beginning of `selector` in ledger entries of guards. The name of the guard follows it. */
const GUARD_SELECTOR = 'guard:';

/** Returns the `selector` of the ledger entries of a guard. No caller can name it as a model. */
export const guardSelector = (guard: string): string => GUARD_SELECTOR + guard;

/** Whether a ledger entry with this `selector` is a guard's. */
export const isGuardSelector = (selector: string): boolean => selector.startsWith(GUARD_SELECTOR);
