import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020';
import { openApiOf } from './openapi.ts';

/**
 * A client that is built from the OpenAPI document. The client sends only documented requests and accepts only documented
 * answers.
 */

export interface ApiCall {
  readonly id?: string;
  /** A list repeats the parameter, once for each value. */
  readonly query?: Readonly<Record<string, string | number | readonly string[]>>;
  readonly body?: object;
  /** Headers with the API key, or with the cookie of a login. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface ApiAnswer<Body> {
  readonly status: number;
  readonly body: Body;
}

export interface ApiClient {
  /** All documented operations, such as `GET /admin/keys`. */
  readonly operations: readonly string[];
  /** The names of the parameters of an operation, except the parameters in its path. */
  parametersOf(operation: string): readonly string[];
  /**
   * Sends a documented request, and checks the answer against the schema of its status.
   * @throws Error if the document lacks the operation, the parameter, the body or the answer
   */
  call<Body = Readonly<Record<string, unknown>>>(operation: string, call: ApiCall): Promise<ApiAnswer<Body>>;
}

interface Content {
  readonly content?: Readonly<Record<string, object>>;
}

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

const JSON_TYPE = 'application/json';
const escaped = (name: string): string => encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'));

/** @param url of the server */
export async function apiClient(url: string): Promise<ApiClient> {
  const document = await openApiOf<Document>(url);
  const ajv = new Ajv2020({ strict: false, allErrors: true }).addSchema(document, 'api');
  const known = new Map<string, ValidateFunction>();
  const check = (value: unknown, ...place: readonly string[]): void => {
    const pointer = place.map(escaped).join('/');
    const validate = known.get(pointer) ?? ajv.compile({ $ref: `api#/${pointer}` });
    known.set(pointer, validate);
    if (validate(value)) return;
    throw new Error(`${place.join(' ')}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(value)}`);
  };
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const find = (name: string): Operation | undefined => {
    const [method = '', path = ''] = name.split(' ');
    return document.paths[path]?.[method.toLowerCase()];
  };
  return {
    operations,
    parametersOf: (name) => find(name)?.parameters?.flatMap((one) => (one.in === 'path' ? [] : [one.name])) ?? [],
    async call<Body>(name: string, { id = '', query = {}, body, headers }: ApiCall) {
      const [method = '', path = ''] = name.split(' ');
      const operation = find(name);
      if (!operation) throw new Error(`the document has no operation ${name}`);
      const parameters = new Set(operation.parameters?.filter((one) => one.in === 'query').map((one) => one.name));
      const wanted = new URLSearchParams();
      for (const [parameter, values] of Object.entries(query)) {
        if (!parameters.has(parameter)) throw new Error(`the document has no parameter ${parameter} of ${name}`);
        for (const value of [values].flat()) wanted.append(parameter, String(value));
      }
      const at = ['paths', path, method.toLowerCase()] as const;
      if (body) check(body, ...at, 'requestBody', 'content', JSON_TYPE, 'schema');
      const answer = await fetch(`${url}${path.replace('{id}', id)}${wanted.size > 0 ? `?${wanted}` : ''}`, {
        method,
        headers: { ...headers, ...(body && { 'content-type': JSON_TYPE }) },
        ...(body && { body: JSON.stringify(body) }),
      });
      const { status } = answer;
      const type = (answer.headers.get('content-type') ?? '').split(';')[0] ?? '';
      if (!operation.responses[status]?.content?.[type]) {
        throw new Error(`the document has no answer ${status} ${type} of ${name}: ${await answer.text()}`);
      }
      const shown: unknown = type === JSON_TYPE ? await answer.json() : await answer.text();
      check(shown, ...at, 'responses', String(status), 'content', type, 'schema');
      return { status, body: shown as Body };
    },
  };
}
