import type { Static, TObject } from '@sinclair/typebox';
import type { Members } from '../core/json/original.ts';
import type { GuardSide, GuardWindowKind } from '../core/policy/guard-texts.ts';
import type { TurnRole } from '../core/request/conversation.ts';
import type { PluginStatus } from './status.ts';

export type { GuardSide, GuardWindowKind };

/** A text of a request or of an answer. */
export interface GuardText {
  readonly text: string;
  /** The role of the message; null for a text that belongs to no message, such as the description of a tool. */
  readonly role: TurnRole | null;
  /**
   * `text`: what people or models wrote, and results of tools. `tool_arguments`: a value in the arguments of a call. `reasoning`: thoughts
   * of a model. `definition`: a text of a tool or a schema. `name`: the name of a tool or a member. `other`: any other member.
   */
  readonly kind: GuardTextKind;
  /** The form that the request wants for the text; absent for none. Only texts of the window `form` have it. */
  readonly form?: GuardForm;
  /** Whether the text ended at its output limit, so that its end is missing. Only texts of the window `form` state it. */
  readonly isCut?: true;
}

/** A form that a request wants for a text: JSON. */
export interface GuardForm {
  /** The JSON schema of the value; null for any value. */
  readonly schema: Members | null;
}

export type GuardTextKind = 'text' | 'tool_arguments' | 'reasoning' | 'definition' | 'name' | 'other';

/** The texts that a guard inspects in one call. */
export interface GuardWindow {
  readonly side: GuardSide;
  /** The texts in their order, at least one. */
  readonly texts: readonly GuardText[];
}

/** Something that a guard has found. */
export interface GuardMatch {
  /** One of the guard's `kinds`. */
  readonly kind: string;
  /**
   * The place of the match: the index of its text in the window, and its start and end in UTF-16 units, `from < to`. A match without a place
   * is about the whole window, so it cannot be masked.
   */
  readonly at?: { readonly text: number; readonly from: number; readonly to: number };
  /**
   * A text for the place in which the guard finds nothing. If the policy blocks or masks the matches of the guard, an answer gets this text
   * instead. Only for answers, and only with `at`.
   */
  readonly repaired?: string;
}

/** A request of a guard to its service, always a POST. */
export interface GuardServiceRequest {
  /** Added to the end of the URL in the policy, such as `/analyze`. Default: nothing. */
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface GuardServiceReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** The service that a guard calls, as the policy states it. Its URL never leads to an address that the policy does not allow. */
export interface GuardService {
  /** The API key of the service; null for none. The host never writes it to a log. */
  readonly apiKey: string | null;
  /**
   * Sends a request. The call ends at the deadline of the guard, and when the caller disconnects. A request with an `Idempotency-Key`
   * continues without its caller.
   * @returns the reply with any status; redirects are not followed
   * @throws Error, by rejecting, without a complete reply of at most 1 MiB
   */
  post(request: GuardServiceRequest): Promise<GuardServiceReply>;
}

/** A question of a guard to its model. */
export interface GuardQuestion {
  /** The task of the model, as its system prompt. */
  readonly instructions: string;
  /** The text to judge. It may come from anyone, also from an attacker. */
  readonly text: string;
  /** The most tokens of the answer, at least 1. */
  readonly outputTokensMax: number;
}

/** The model that a guard calls, as the policy names it. The caller of the inspected request pays for each call. */
export interface GuardModel {
  /**
   * Asks the model. The call ends at the deadline of the guard, and when the caller disconnects.
   * @returns the text of the answer
   * @throws Error, by rejecting, without a complete answer
   */
  ask(question: GuardQuestion): Promise<string>;
}

/** The work of a pure guard in steps of some milliseconds. The last step has the matches. */
export type GuardSteps = Iterator<void, readonly GuardMatch[]>;

export interface PreparedGuard {
  /** Every kind of match that the guard reports, such as `email`: lower-case letters, digits and dashes. Records and metrics show them. */
  readonly kinds: readonly string[];
  /**
   * How many characters after its beginning a match needs to be found, if the guard reports places. The guard must find a match that begins
   * at `from` in every text that goes on for at least `reach` characters after `from`, and the match must end in the same place if the text
   * goes on for `reach` characters after its end. Streams are delayed by this number of characters. Without `reach`, the guard needs whole
   * texts, and a stream that it may block or mask shows nothing before its end.
   *
   * The host inspects long texts of a pure guard with `reach` in parts, so that other requests are served in between. What the guard finds in a
   * text must therefore not depend on the other texts of the window, nor on characters that come more than `reach` before the match.
   */
  readonly reach?: number;
  /**
   * The steps of all patterns together that the guard keeps compiled, as `patternSize` counts them. Default: 0. A policy with too many in all
   * its guards is refused, because each takes memory.
   */
  readonly patternSteps?: number;
  /** Whether `check` returns steps for long texts. The host then does not cut the texts of the guard into parts. */
  readonly takesSteps?: true;
  /**
   * The longest window that a pure guard without `reach` and steps inspects, in characters of all texts together: so many that `check`
   * takes at most 50 ms. The guard counts as failed for a longer one. Default: 262,144.
   */
  readonly longest?: number;
  /**
   * Whether the model is asked once more if this guard would block its answer, and the policy does not only count. The caller pays for both
   * answers. Only for pure guards.
   */
  readonly asksAgain?: boolean;
  /**
   * Inspects a window. The matches may be in any order and may overlap. A guard with `pure: true` returns the same matches for the same
   * window, and no promise. With `takesSteps`, it may return steps instead of matches.
   * @param service the service of a plugin with `service`; absent for other plugins
   * @param model the model of a plugin with `model`; absent for other plugins
   */
  check(
    window: GuardWindow,
    service?: GuardService,
    model?: GuardModel,
  ): readonly GuardMatch[] | Promise<readonly GuardMatch[]> | GuardSteps;
}

export interface GuardPlugin<Settings extends TObject = TObject> {
  readonly kind: 'guard';
  /** The version of the contract that the plugin is written for. Guards exist since version 2. */
  readonly contract: 2;
  readonly name: string;
  readonly status: PluginStatus;
  /** Schema of the `settings` of a guard in the policy. The host applies the defaults before it calls `prepare`. */
  readonly settings: Settings;
  /**
   * Whether the matches depend only on the window and the settings. Only a pure guard inspects quotes, recommendations and test cases of a
   * policy. In a running conversation, the host keeps the matches of a pure guard with the window `message` or `call`, and calls `check` only
   * for windows that are new or have changed. A guard that is not pure gets whole answers, so a stream that it may block or mask shows nothing before its end.
   */
  readonly pure: boolean;
  /** Present if the guard calls a service, whose address the policy states. `url` is the default address. The guard is not pure. */
  readonly service?: { readonly url?: string };
  /** Present if the guard calls a model, which the policy names. The guard is not pure. */
  readonly model?: true;
  readonly window: GuardWindowKind;
  /** False if no match has a place. A policy that wants to mask such matches gets a warning, because they block. */
  readonly locates?: false;
  /** The sides that the guard can inspect. */
  readonly sides: readonly GuardSide[];
  prepare(settings: Static<Settings>): PreparedGuard;
}

/**
 * Declares a guard.
 *
 * @example
 * ```ts
 * export const codenames = defineGuard({
 *   name: 'codenames',
 *   status: 'alpha',
 *   settings: Type.Object({ names: Type.Array(Type.String()) }, { additionalProperties: false }),
 *   pure: true,
 *   window: 'message',
 *   sides: ['input', 'output'],
 *   prepare: ({ names }) => ({
 *     kinds: ['codename'],
 *     reach: Math.max(...names.map((name) => name.length)),
 *     check: ({ texts }) =>
 *       texts.flatMap(({ text }, index) =>
 *         names
 *           .map((name) => ({ from: text.indexOf(name), to: text.indexOf(name) + name.length }))
 *           .filter(({ from }) => from >= 0)
 *           .map((place) => ({ kind: 'codename', at: { text: index, ...place } })),
 *       ),
 *   }),
 * });
 * ```
 */
export function defineGuard<Settings extends TObject>(
  plugin: Omit<GuardPlugin<Settings>, 'kind' | 'contract'>,
): GuardPlugin<Settings> {
  return { kind: 'guard', contract: 2, ...plugin };
}
