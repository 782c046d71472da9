import type { TSchema } from '@sinclair/typebox';
import { type ErrorCode, SignalboxError } from '../../core/errors.ts';
import { usdWriter } from '../../core/usd.ts';
import { compileCheck } from '../../core/validation.ts';
import type { Principal } from '../use-cases/principal.ts';
import { type Action, checkAction, type Reach } from '../use-cases/roles.ts';
import { decode, encode, statesUsd, type ValueOf } from './fields.ts';
import { refused, translated } from './refusals.ts';

/** Who sends a request for an operation, when, and what it makes of the state that it expects. */
export interface Call {
  readonly by: Principal;
  /** ms since 1970 */
  readonly now: number;
  /** The ID in the path; empty where there is none. */
  readonly id: string;
  /** The API key or token that the request bears; null for none, such as in a command. */
  readonly credentials: string | null;
  /** The tags in `If-Match`, of which the subject must have one; null for any. */
  readonly tags: readonly string[] | null;
}

/** What every operation needs of its host, a server or a command on a database. */
export interface OperationHost {
  /** The worth of a Credit in USD, an exact decimal; null in a database that never had a policy. */
  usdPerCredit(): string | null | Promise<string | null>;
}

/** The table that a command prints of a list. */
export interface Columns {
  /** The member of the answer with the items; the first list of objects unless stated. */
  readonly of?: string;
  /** Members of an item, such as `whole.requests` within another. One that no item has anything in is left out. */
  readonly columns: readonly string[];
  /** The items, where they are more than those of the list. */
  readonly rows?: (body: never) => readonly object[];
  /** The sentence after the table. */
  readonly sum?: (body: never) => string;
}

interface Example {
  readonly summary: string;
  readonly value: object;
}

/**
 * One thing that operators can do. Its route, its documentation, its role, its command with flags and help, and what the command prints
 * are made of this.
 */
export interface Definition<Services, Input extends TSchema, Output extends TSchema> {
  /** The words of its command, such as `keys create`. */
  readonly name: string;
  /** Its method and path, such as `POST /admin/keys`. `GET` only reads. */
  readonly http: string;
  readonly action: Action;
  /** The group in the document, `Operators` unless stated. */
  readonly tag?: string;
  /** Whether it counts against the rate limits of its caller. */
  readonly counts?: boolean;
  /** Whether it may take longer than a connection may be idle. */
  readonly isLong?: boolean;
  /** Most bytes of its body; `policy` as `gateway.body_bytes_max` says. 64 KiB unless stated. */
  readonly bodyMax?: number | 'policy';
  /** False where no command does the same. */
  readonly command?: false;
  /** What its command takes in place of an ID, such as `NAME|ID`: a text that may have spaces. */
  readonly idForm?: string;
  /** An imperative without a full stop. */
  readonly summary: string;
  /** Sentences for the document and for the help of its command. */
  readonly details: string;
  /** Members of the body or, for `GET`, of the query. Absent: it takes none. */
  readonly input?: Input;
  readonly output: Output;
  /** Describes the answer. */
  readonly answer: string;
  /** The other form of the answer, which `run` gives as a `TextAnswer`; its only form where the output is a text. */
  readonly text?: TextForm;
  /** Members of the answer's example that differ from the examples of the fields. */
  readonly differs?: object;
  /** Bodies to send, by name. */
  readonly examples?: Readonly<Record<string, Example>>;
  /** Errors beyond those of every operation of its form. */
  readonly errors?: readonly ErrorCode[];
  /** The member that examples of errors about one member name. */
  readonly errorField?: string;
  /** Whether its result has the version of what it answers with, for `ETag`. */
  readonly isTagged?: boolean;
  /** Whether it takes `If-Match`, because the last of two changes could undo the first unseen. */
  readonly takesTags?: boolean;
  /** How many items of its list the command shows where `--limit` does not say it; all unless stated. */
  readonly commandLimit?: number;
  /** Why the command does it only with `--yes`, in a sentence. */
  readonly confirmation?: string;
  /** Whether an answer is a finding: its command then ends with the code 2. */
  readonly isFinding?: (body: never) => boolean;
  /** What its command prints without `--json`: a table, every member in a line of its own, or a text. `fields` unless stated. */
  readonly prints?: Columns | 'fields' | ((body: never, id: string) => string);
  /** Checks that the caller's role reaches what it is about, and does it. The role includes the action. @throws SignalboxError */
  readonly run: (
    services: Services,
    call: Call & { readonly reach: Reach },
    input: ValueOf<Input>,
  ) => Promise<(ValueOf<Output> & Tagged) | TextAnswer>;
}

/** An answer in another form than JSON, for a file. */
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

/** The other form of an answer, for the document. */
export interface TextForm {
  readonly mediaType: string;
  readonly description: string;
  readonly example: string;
}

interface Tagged {
  readonly tag?: string;
}

/** An operation on some services, whatever its input and output are. */
export interface Operation<Services = never> extends Omit<Definition<Services, TSchema, TSchema>, 'run'> {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly takesId: boolean;
  /**
   * Carries it out.
   * @param input on the wire
   * @returns the answer on the wire, and its tag
   * @throws SignalboxError
   */
  perform(services: Services & OperationHost, call: Call, input: unknown): Promise<Performed>;
}

export interface Performed {
  /** JSON, or a `TextAnswer`. */
  readonly body: unknown;
  /** Null where the answer has no version. */
  readonly tag: string | null;
}

const METHODS = ['GET', 'POST', 'PATCH', 'PUT', 'DELETE'] as const;

/** Returns what defines operations on some services. */
export const operationsOn =
  <Services>() =>
  <Input extends TSchema, Output extends TSchema>(
    definition: Definition<Services, Input, Output>,
  ): Operation<Services> => {
    const { http, action, input, output, isTagged = false, run } = definition;
    const [word = '', path = ''] = http.split(' ');
    const method = METHODS.find((one) => one === word);
    if (!method) throw new Error(`${http} has no method`);
    const check = input && compileCheck(input);
    const isMember = (param: string) => param.split(/[.[]/, 1)[0]! in (input?.properties ?? {});
    const hasUsd = statesUsd(output);
    const perform: Operation<Services>['perform'] = async (services, call, given) => {
      const reached = { ...call, reach: checkAction(call.by.caller, action) };
      check?.(given);
      const value = (input ? decode(input, given) : {}) as ValueOf<Input>;
      const result = await (method === 'GET' ? translated : refused)(() => run(services, reached, value), isMember);
      if (result instanceof TextAnswer) return { body: result, tag: null };
      const usd = usdWriter(hasUsd ? await services.usdPerCredit() : null);
      return { body: encode(output, result, { usd }), tag: (isTagged && result.tag) || null };
    };
    // What the definition says of its own input and result holds wherever it is called by `perform`.
    const erased = definition as unknown as Omit<Definition<Services, TSchema, TSchema>, 'run'>;
    return { ...erased, method, path, takesId: path.includes('/:id'), perform };
  };

/** The errors that every operation of its form has. */
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

/** Errors of every route that decides a whole request. */
export const DECISION_ERRORS: readonly ErrorCode[] = [
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

/** The subject of an operation is not there, or not for this caller. */
export const notFound = (message: string): never => {
  throw new SignalboxError('not_found', message);
};
