import type { Finding } from './report.ts';

/** A failure that schemathesis reports although the server is right. */
interface KnownFinding {
  /** The check of schemathesis; by default `positive_data_acceptance` (the server refused a request that the document allows). */
  readonly check?: string;
  /** The error code; any code by default. */
  readonly code?: RegExp;
  /** The field that the error names; any field by default. */
  readonly field?: RegExp;
  readonly operation?: RegExp;
  /** What the request contains; anything by default. */
  readonly request?: RegExp;
  readonly why: string;
}

/** Rules that the OpenAPI document cannot state, or does not state yet. */
const KNOWN: readonly KnownFinding[] = [
  {
    check: 'ignored_auth',
    code: /^rate_limit_exceeded$/,
    why: 'After many wrong keys the server answers 429 and does not check the next key.',
  },
  {
    check: 'negative_data_rejection',
    request: /"fallbacks": \[.*"models": |"models": .*"fallbacks": \[/s,
    why: 'A request with `fallbacks` may have a field `models` of any form, which may belong to a provider.',
  },
  {
    code: /^invalid_value$/,
    field: /^(contents\[\d+\]|systemInstruction)\.parts\[\d+\](\.(functionCall|functionResponse|fileData))?$/,
    why: 'A part has one kind of content, and the role decides which kinds it may have.',
  },
  {
    code: /^invalid_value$/,
    field:
      /^(toolConfig\.functionCallingConfig\b.*|generationConfig\.(responseJsonSchema|responseMimeType|logprobs|thinkingConfig\.thinkingLevel)|requests\[\d+\]\.(model|outputDimensionality))$/,
    why: 'The field must agree with another field, or its words may have capitals.',
  },
  {
    operation: /:countTokens$/,
    code: /^missing_field$/,
    field: /^contents$/,
    why: 'The contents are in the body, or in its `generateContentRequest`.',
  },
  {
    check: 'negative_data_rejection',
    operation: /^POST (\/v1beta\/models\/|\/v1\/route$)/,
    request: /"(contents|parts|tools|functionDeclarations|requests)": \{/,
    why: 'Gemini’s API accepts a single object in place of a list.',
  },
  { code: /^idempotency_key_reused$/, why: 'The fuzzer sends the same key with several bodies.' },
  { code: /^precondition_failed$/, why: 'The fuzzer invents versions.' },
  { code: /^upgrade_required$/, why: 'GET /v1/responses opens a WebSocket.' },
  { code: /^(no_eligible_model|context_length_exceeded|budget_limit_too_low)$/, why: 'It depends on the models.' },
  { code: /^(insufficient_quota|request_exceeds_budget)$/, why: 'It depends on the budgets.' },
  {
    code: /^(unsupported_parameter|thread_unsupported_request)$/,
    why: 'It depends on what the models and their services can do.',
  },
  { code: /^(conflict|policy_invalid)$/, why: 'It depends on the policy, and on what there is.' },
  {
    operation: /^POST \/admin\/policy\/explain$/,
    why: 'Its `request` is a body of any dialect, whose members the document states at the routes of the dialects.',
  },
  {
    operation: /^POST \/admin\/policy\/test$/,
    code: /^invalid_value$/,
    field: /^$/,
    why: 'No case of the policy has this name.',
  },
  {
    code: /^unknown_field$/,
    field: /^(task_type|estimated_(in|out)put_tokens)$/,
    why: 'POST /v1/route takes these fields beside a body of chat completions only.',
  },
  {
    code: /^(invalid_value|out_of_range)$/,
    field:
      /^(tool_choice\b.*|messages|role|route_strategy|top_logprobs|stream_options|max_completion_tokens|changes|files|revision|actor_name|expires_(in_seconds|at)|key|user|team|model|provider|label|task|status|month|issuer|sub|constraints\.min_output_tokens|thinking\.budget_tokens)$/,
    why: 'The field must agree with another field.',
  },
  {
    code: /^missing_field$/,
    field: /^(messages\[\d+\]\.(content|tool_call_id)|If-Match|actor_name)$/,
    why: 'Another field or the kind of the message decides whether the field is required.',
  },
  {
    code: /^(invalid_value|out_of_range)$/,
    field: /^(after|after_id|before|before_id|newer_than|pageToken)$/,
    why: 'The parameter names an item of the list.',
  },
  {
    code: /^(invalid_value|out_of_range)$/,
    field: /^(from|to|time_zone)$/,
    why: 'The calendar decides whether there is such a day or time zone, and the period has a greatest length.',
  },
  { code: /^invalid_value$/, field: /^by$/, why: 'The parameter lists groupings, each once.' },
  {
    code: /^(invalid_value|out_of_range)$/,
    field:
      /\b(agent_wallet|wallets?|limit_credits|limit_usd|credits|name|note|email|labels|webhook|ttl|url|models|required_languages|scopes|budgets|text|id)(\[\d+\])?$/,
    why: 'No schema states it: the checksum of an address, six decimals (`multipleOf` fails for valid numbers), a length in UTF-16, a name that is free, what a Credit is worth in USD.',
  },
];

const isOf = (known: KnownFinding, { check, operation, code, field, request }: Finding): boolean =>
  (known.check ?? 'positive_data_acceptance') === check &&
  (known.operation?.test(operation) ?? true) &&
  (known.request?.test(request) ?? true) &&
  (known.code?.test(code) ?? true) &&
  (known.field?.test(field) ?? true);

/** Returns whether a failure is known; other failures fail the section `fuzz`. */
export const isKnown = (finding: Finding): boolean => KNOWN.some((known) => isOf(known, finding));
