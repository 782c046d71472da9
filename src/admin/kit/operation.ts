import type { TSchema } from '@sinclair/typebox';
import { decode, encode, type ValueOf } from '../../core/define/field.ts';
import { statesUsd, takesUsd } from '../../core/define/fields.ts';
import { type ErrorCode, SignalboxError } from '../../core/errors.ts';
import { objectOf } from '../../core/json/object.ts';
import { parseDecimal } from '../../core/money/decimal.ts';
import { usdWriter } from '../../core/money/usd.ts';
import type { Caller } from '../../core/people/caller.ts';
import { compileCheck } from '../../core/schema/validation.ts';
import type { BudgetAdvice } from '../use-cases/budget-warnings.ts';
import type { Principal } from '../use-cases/principal.ts';
import { type Action, checkAction, type Reach } from '../use-cases/roles.ts';
import { refused, translated } from './refusals.ts';

/** A call of an operation: who calls, when, and which state the caller expects. */
export interface Call {
  readonly by: Principal;
  /** ms since 1970 */
  readonly now: number;
  /** The ID in the path; empty if the path has none. */
  readonly id: string;
  /** The API key or token of the request; null if there is none, as in a command. */
  readonly credentials: string | null;
  /** The tags in `If-Match`. The version of the subject must be one of them; null accepts any version. */
  readonly tags: readonly string[] | null;
}

/** The parts that every operation needs from its host, which is a server or a command on a database. */
export interface OperationHost {
  /** The value of a Credit in USD, an exact decimal; null if the database never had a policy. */
  usdPerCredit(): string | null | Promise<string | null>;
  /** Returns warnings for a list of models that a caller states; absent if the host does not know the policy. */
  modelWarnings?(list: readonly string[], caller: Caller): readonly string[] | Promise<readonly string[]>;
  /** Returns what budgets must pay for; absent if the host does not know the policy. */
  budgetAdvice?(): BudgetAdvice;
}

/** The table that a command prints for a list. */
export interface Columns {
  /** The member of the answer that has the items; by default the first list of objects. */
  readonly of?: string;
  /** The members of an item, such as `whole.requests` for a nested member. A column without any value is left out. */
  readonly columns: readonly string[];
  /** Returns the rows, if the table has more rows than the list has items. */
  readonly rows?: (body: never) => readonly object[];
  /** Returns the sentence after the table. */
  readonly sum?: (body: never) => string;
}

interface Example {
  readonly summary: string;
  readonly value: object;
}

/**
 * The definition of an operation, one thing that operators can do. An operation's HTTP route, its documentation and permissions, and the
 * command with its flags, help and output are made from this definition.
 */
export interface Definition<Services, Input extends TSchema, Output extends TSchema> {
  /** The words of the command, such as `keys create`. */
  readonly name: string;
  /** The HTTP method and path, such as `POST /admin/keys`. `GET` operations only read. */
  readonly http: string;
  readonly action: Action;
  /** The group in the OpenAPI document, by default `Operators`. */
  readonly tag?: string;
  /** Whether a call counts against the rate limits of its caller. */
  readonly counts?: boolean;
  /** Whether a call may take longer than the idle timeout of a connection. */
  readonly isLong?: boolean;
  /** The most bytes of the body, by default 64 KiB. `policy` uses the limit `gateway.body_bytes_max` of the policy. */
  readonly bodyMax?: number | 'policy';
  /** False if no command exists for the operation. */
  readonly command?: false;
  /** The argument that the command takes instead of an ID, such as `NAME|ID`. The text may contain spaces. */
  readonly idForm?: string;
  /** For an operation with a command: the rest of the sentence that begins with `Use this command`. */
  readonly use?: string;
  /** For an operation with a command: a command line to start from, without the name of the program. */
  readonly example?: string;
  /** An imperative sentence without a full stop. */
  readonly summary: string;
  /** Sentences for the OpenAPI document and for the help of the command. */
  readonly details: string;
  /** The members of the body, or of the query for `GET`. Absent if the operation has no input. */
  readonly input?: Input;
  readonly output: Output;
  /** Describes the answer in the OpenAPI document. */
  readonly answer: string;
  /**
   * The second form of the answer, which `run` returns as a `TextAnswer` or `TextStream`. If the output is a text, this is the only form.
   */
  readonly text?: TextForm;
  /** Members of the answer's example that differ from the examples of the fields. */
  readonly differs?: object;
  /** Example bodies, by name. */
  readonly examples?: Readonly<Record<string, Example>>;
  /** Errors in addition to those that every operation of the same form has. */
  readonly errors?: readonly ErrorCode[];
  /** The member that examples of errors name. */
  readonly errorField?: string;
  /** Whether the result has a version, which becomes the `ETag` of the answer. */
  readonly isTagged?: boolean;
  /** Whether the operation accepts `If-Match`, so that a change does not silently overwrite another change. */
  readonly takesTags?: boolean;
  /** How many items the command shows without `--limit`; by default all. */
  readonly commandLimit?: number;
  /** A sentence that says why the command needs `--yes`. */
  readonly confirmation?: string;
  /** Whether an answer is a finding. If an answer is a finding, the command ends with exit code 2. */
  readonly isFinding?: (body: never) => boolean;
  /** The form of the output of the command without `--json`: a table, each member on its own line (`fields`, the default), or a text. */
  readonly prints?: Columns | 'fields' | ((body: never, id: string) => string);
  /**
   * The lines that the command prints instead of every member, unless the flag `--verbose` is there. A line without a text is left out. Only
   * for `fields`.
   */
  readonly brief?: (body: never) => readonly (readonly [title: string, text: string | null])[];
  /**
   * Carries out the operation. The caller's role already allows the action; `run` checks that the role also reaches the subject. @throws
   * SignalboxError
   */
  readonly run: (
    services: Services,
    call: ReachingCall,
    input: ValueOf<Input>,
  ) => Promise<(ValueOf<Output> & Tagged) | TextAnswer | TextStream>;
  /** Returns warnings about values of the input that are probably mistakes, although `run` returned a result. */
  readonly warn?: (
    services: Services,
    call: ReachingCall,
    input: ValueOf<Input>,
    result: ValueOf<Output>,
  ) => readonly string[] | Promise<readonly string[]>;
  /**
   * Checks that the caller may still get the answer, before the stored answer of an `Idempotency-Key` is sent again. For answers that
   * contain a secret; the roles and the credentials are checked for all answers. @throws SignalboxError
   */
  readonly checkRepeat?: (services: Services, call: ReachingCall, input: ValueOf<Input>) => void | Promise<void>;
}

/** A call, and which subjects the role of its caller reaches. */
export type ReachingCall = Call & { readonly reach: Reach };

/** An answer that is not JSON, for a file. */
export class TextAnswer {
  readonly text: string;
  readonly mediaType: string;
  readonly filename: string;

  constructor(text: string, mediaType: string, filename: string) {
    this.text = text;
    this.mediaType = mediaType;
    this.filename = filename;
  }
}

/** An answer for a file that may be larger than the memory. Only a route can send it, so its operation has no command. */
export class TextStream {
  /** The text, in pieces. */
  readonly pieces: AsyncGenerator<string, void, void>;
  readonly mediaType: string;
  readonly filename: string;
  /** Called when the stream has ended or its client has left; may be called twice. */
  readonly onEnd: () => void;

  constructor(pieces: TextStream['pieces'], mediaType: string, filename: string, onEnd: () => void) {
    this.pieces = pieces;
    this.mediaType = mediaType;
    this.filename = filename;
    this.onEnd = onEnd;
  }
}

/** The second form of an answer, for the OpenAPI document. */
export interface TextForm {
  readonly mediaType: string;
  readonly description: string;
  readonly example: string;
}

interface Tagged {
  readonly tag?: string;
}

/** An operation that needs some services, with any input and output. */
export interface Operation<Services = never>
  extends Omit<Definition<Services, TSchema, TSchema>, 'run' | 'warn' | 'checkRepeat'> {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly takesId: boolean;
  /**
   * Carries out the operation.
   * @param input in its JSON form
   * @returns the answer in its JSON form, and its tag
   * @throws SignalboxError
   */
  readonly perform: (services: Services & OperationHost, call: Call, input: unknown) => Promise<Performed>;
  /** Whether `checkRepeat` checks anything. */
  readonly checksRepeats: boolean;
  /**
   * Checks that the caller may get the stored answer of a call with the same input.
   * @throws SignalboxError
   */
  readonly checkRepeat: (services: Services & OperationHost, call: Call, input: unknown) => Promise<void>;
}

export interface Performed {
  /** A JSON value, a `TextAnswer` or a `TextStream`. */
  readonly body: unknown;
  /** The version of the answer; null if it has none. */
  readonly tag: string | null;
  /** Probable mistakes in the input, although the operation was carried out. */
  readonly warnings: readonly string[];
}

const METHODS = ['GET', 'POST', 'PATCH', 'PUT', 'DELETE'] as const;

/** Returns a function that defines operations which need the given services. */
export const operationsOn =
  <Services>() =>
  <Input extends TSchema, Output extends TSchema>(
    definition: Definition<Services, Input, Output>,
  ): Operation<Services> => {
    const { http, action, input, output, isTagged = false, run, warn, checkRepeat: check } = definition;
    const [word = '', path = ''] = http.split(' ');
    const method = METHODS.find((one) => one === word);
    if (!method) throw new Error(`${http} has no method. Write it like POST /admin/keys.`);
    const checkInput = input && compileCheck(input);
    const isMember = (param: string) => param.split(/[.[]/, 1)[0]! in (input?.properties ?? {});
    const hasUsd = statesUsd(output);
    const readsUsd = input !== undefined && takesUsd(input);
    const reachOf = (call: Call): ReachingCall => ({ ...call, reach: checkAction(call.by.caller, action) });
    const inputOf = async (services: OperationHost, given: unknown) => {
      const worth = readsUsd ? await services.usdPerCredit() : null;
      return (input ? decode(input, given, worth === null ? null : parseDecimal(worth)) : {}) as ValueOf<Input>;
    };
    const checkRepeat: Operation<Services>['checkRepeat'] = async (services, call, given) =>
      check?.(services, reachOf(call), await inputOf(services, given));
    const perform: Operation<Services>['perform'] = async (services, call, given) => {
      const reached = reachOf(call);
      checkInput?.(given);
      const value = await inputOf(services, given);
      const result = await (method === 'GET' ? translated : refused)(() => run(services, reached, value), isMember);
      if (result instanceof TextAnswer || result instanceof TextStream) {
        return { body: result, tag: null, warnings: [] };
      }
      const usd = usdWriter(hasUsd ? await services.usdPerCredit() : null);
      const list = method === 'GET' ? [] : modelsIn(given);
      const ofModels = list.length > 0 ? await services.modelWarnings?.(list, call.by.caller) : undefined;
      const ofInput = await warn?.(services, reached, value, result);
      const ofBudgets = method === 'GET' ? [] : emptyBudgets(value);
      const warnings = [...(ofModels ?? []), ...ofBudgets, ...(ofInput ?? [])];
      return { body: encode(output, result, { usd }), tag: (isTagged && result.tag) || null, warnings };
    };
    // The conversion drops the types of input and result. `perform` checks the input with the schema before `run` gets it.
    const erased = definition as unknown as Omit<
      Definition<Services, TSchema, TSchema>,
      'run' | 'warn' | 'checkRepeat'
    >;
    return {
      ...erased,
      method,
      path,
      takesId: path.includes('/:id'),
      perform,
      checksRepeats: check !== undefined,
      checkRepeat,
    };
  };

/** The models that an input lists, for a key, a team or a user, and for the members of a team. */
function modelsIn(input: unknown): readonly string[] {
  const { models, member_defaults: members } = objectOf(input);
  return [models, objectOf(members).models].flatMap((list) => (isTexts(list) ? list : []));
}

/** Warns about budgets of 0. USD are rounded down, so a small amount can become 0. @param value the input, in the program's form */
function emptyBudgets(value: unknown): readonly string[] {
  const { budgets, memberDefaults } = objectOf(value);
  const lists = [budgets, objectOf(memberDefaults).budgets];
  const isEmpty = lists.some((list) => Array.isArray(list) && list.some((one) => objectOf(one).limit === 0));
  return isEmpty ? [`A budget of 0 Credits lets only free requests through. ${BUDGET_OF_0}`] : [];
}
const BUDGET_OF_0 =
  'Amounts below 0.000001 Credits are rounded down to 0, and in double quotes a shell replaces `$20`: write `20USD/day`.';

const isTexts = (list: unknown): list is readonly string[] =>
  Array.isArray(list) && list.every((one) => typeof one === 'string');

/** The errors that every operation of the same form has, and the operation's own errors. */
export function errorsOf({ method, input, takesId, takesTags, errors = [] }: Operation): readonly ErrorCode[] {
  return [
    ...(input && method !== 'GET' ? ([...BODY_ERRORS, 'unknown_field'] as const) : []),
    ...(input && method === 'GET' ? (['invalid_value', 'out_of_range'] as const) : []),
    ...(takesId ? (['not_found'] as const) : []),
    ...(takesTags ? (['precondition_failed'] as const) : []),
    ...errors,
  ];
}

/** Errors of every route that reads a body. */
export const BODY_ERRORS: readonly ErrorCode[] = [
  'insufficient_permissions',
  'invalid_json',
  'invalid_type',
  'invalid_value',
  'missing_field',
  'out_of_range',
  'unsupported_media_type',
  'request_timeout',
  'request_too_large',
  'overloaded',
];

/** Errors of every route that decides a complete request. */
export const DECISION_ERRORS: readonly ErrorCode[] = [
  'content_blocked',
  'guard_failed',
  ...BODY_ERRORS,
  'unknown_field',
  'unsupported_parameter',
  'model_not_found',
  'budget_limit_too_low',
  'context_length_exceeded',
  'no_eligible_model',
  'no_healthy_model',
  'upstream_rate_limited',
  'upstream_out_of_credit',
  'insufficient_quota',
  'request_exceeds_budget',
];

/** @throws SignalboxError because the subject of an operation does not exist, or the caller may not see it */
export const notFound = (message: string): never => {
  throw new SignalboxError('not_found', message);
};
