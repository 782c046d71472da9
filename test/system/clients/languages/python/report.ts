import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

/** A failure, with the request and the answer that show it. */
export interface Finding {
  readonly check: string;
  readonly operation: string;
  readonly status: number;
  readonly code: string;
  readonly field: string;
  readonly message: string;
  readonly request: string;
}

interface Bytes {
  readonly $base64?: string;
}
interface Scenario {
  readonly recorder?: {
    readonly label: string;
    readonly checks?: Readonly<Record<string, readonly { readonly name: string; readonly status: string }[]>>;
    readonly interactions?: Readonly<Record<string, Interaction>>;
  };
}
interface Interaction {
  readonly request: { readonly uri: string; readonly body?: Bytes | null };
  readonly response?: {
    readonly status_code: number;
    readonly content?: Bytes | null;
  } | null;
}
interface ErrorDetails {
  readonly error_code?: string;
  readonly param?: string | null;
}
interface GoogleDetail {
  readonly reason?: string;
  readonly fieldViolations?: readonly { readonly field: string }[];
}
interface ErrorAnswer {
  readonly error?: {
    /** Errors in Google's format have the HTTP status here. */
    readonly code?: string | number;
    readonly param?: string | null;
    readonly message?: string;
    /** Errors in Anthropic's format have an object here, and errors in Google's format a list. */
    readonly details?: ErrorDetails | readonly GoogleDetail[];
  };
}

const textOf = (bytes: Bytes | null | undefined): string => Buffer.from(bytes?.$base64 ?? '', 'base64').toString();

function errorIn(text: string): NonNullable<ErrorAnswer['error']> {
  try {
    return (JSON.parse(text) as ErrorAnswer).error ?? {};
  } catch {
    return {};
  }
}

const isGoogles = (details: ErrorDetails | readonly GoogleDetail[]): details is readonly GoogleDetail[] =>
  Array.isArray(details);

function detailsIn(details: ErrorDetails | readonly GoogleDetail[] = {}): ErrorDetails {
  if (!isGoogles(details)) return details;
  const code = details.find(({ reason }) => reason !== undefined)?.reason?.toLowerCase();
  const param = details.flatMap(({ fieldViolations = [] }) => fieldViolations)[0]?.field;
  return { ...(code !== undefined && { error_code: code }), ...(param !== undefined && { param }) };
}

function findingOf(check: string, operation: string, { request, response }: Interaction): Finding {
  const text = textOf(response?.content);
  const { code, param, message, details } = errorIn(text);
  const stated = detailsIn(details);
  return {
    check,
    operation,
    status: response?.status_code ?? 0,
    code: stated.error_code ?? `${code ?? ''}`,
    field: stated.param ?? param ?? '',
    message: message ?? text.slice(0, 300),
    request: `${request.uri.replace(/^https?:\/\/[^/]+/, '')} ${textOf(request.body).slice(0, 600)}`,
  };
}

/** Reads a schemathesis report in the format `ndjson`: one event in each line, tens of megabytes. */
export async function readReport(file: string) {
  const findings: Finding[] = [];
  const operations = new Set<string>();
  let cases = 0;
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const { recorder } = (JSON.parse(line) as { ScenarioFinished?: Scenario }).ScenarioFinished ?? {};
    const { label = '', interactions = {}, checks = {} } = recorder ?? {};
    const sent = Object.keys(interactions).length;
    cases += sent;
    if (sent > 0) operations.add(label);
    for (const [id, results] of Object.entries(checks))
      for (const { name, status } of results)
        if (status === 'failure') findings.push(findingOf(name, label, interactions[id]!));
  }
  return { findings, operations: operations.size, cases };
}
