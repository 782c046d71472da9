import type { TSchema } from '@sinclair/typebox';
import { Elysia, t } from 'elysia';
import {
  type Call,
  errorsOf,
  type Operation,
  type OperationHost,
  TextAnswer,
  TextStream,
} from '../../admin/kit/operation.ts';
import { isMap, parsedValue, wordsOf } from '../../admin/kit/values.ts';
import { WARNINGS_HEADER } from '../../admin/use-cases/operator-socket.ts';
import { leastCost } from '../../routing/least-cost.ts';
import { listWarnings } from '../../routing/model-name.ts';
import { bodyIn } from './body.ts';
import { credentialsIn } from './credentials.ts';
import { exportResponse } from './export-response.ts';
import { routeDocs } from './route-docs.ts';
import { type RouteServices, withoutIdleLimit } from './route-services.ts';
import { pathOf } from './route-table.ts';

type Edge = Pick<RouteServices, 'gateway' | 'principalOf' | 'repeatChecks' | 'server' | 'stalledS'>;

/** Makes the routes of operations. */
export function operationRoutes<Services>(
  name: string,
  operations: readonly Operation<Services>[],
  services: Services & Edge,
) {
  const app = new Elysia({ name });
  const { gateway, principalOf, repeatChecks, server, stalledS } = services;
  const host: OperationHost = {
    usdPerCredit: () => gateway.lease().snapshot.usdPerCredit,
    modelWarnings: (list, caller) => listWarnings(list, caller, gateway.lease().snapshot),
    budgetAdvice() {
      const { snapshot } = gateway.lease();
      const { usdPerCredit } = snapshot;
      return { usdPerCredit, leastCost: (lists, onExhausted) => leastCost(snapshot, lists, onExhausted) };
    },
  };
  const callOf = (request: Request, id: string): Call => ({
    by: principalOf(request),
    now: gateway.now(),
    id,
    credentials: credentialsIn(request.headers),
    tags: tagsIn(request.headers),
  });
  for (const operation of operations) {
    const { method, path, input, isLong } = operation;
    const isRead = method === 'GET';
    const handle = async ({ params, body, request, set }: Handled) => {
      const call = callOf(request, params?.id ?? '');
      const given = isRead ? input && queryOf(input, request.url) : body;
      const perform = () => operation.perform({ ...services, ...host }, call, given);
      const { body: answer, tag, warnings } = await (isLong ? withoutIdleLimit(server(), request, perform) : perform());
      if (tag !== null) set.headers.etag = `"${tag}"`;
      if (warnings.length > 0) set.headers[WARNINGS_HEADER] = warnings.map(encodeURIComponent).join(',');
      if (answer instanceof TextStream) {
        const { pieces, onEnd } = answer;
        return await exportResponse(pieces, { server, stalledS, request, headers: fileHeaders(answer), onEnd });
      }
      return answer instanceof TextAnswer ? new Response(answer.text, { headers: fileHeaders(answer) }) : answer;
    };
    if (operation.checksRepeats) {
      const at = path.split('/').indexOf(':id');
      repeatChecks.set(`${method} ${path}`, (request, body) =>
        operation.checkRepeat(
          { ...services, ...host },
          callOf(request, decodeURIComponent(pathOf(request.url).split('/')[at] ?? '')),
          body,
        ),
      );
    }
    app.route(method, path, handle, {
      ...(input && (isRead ? { query: openQuery(input) } : bodyIn(input))),
      ...documented(operation),
    });
  }
  return app;
}

const fileHeaders = ({ mediaType, filename }: Pick<TextAnswer, 'mediaType' | 'filename'>) => ({
  'content-type': `${mediaType}; charset=utf-8`,
  'content-disposition': `attachment; filename="${filename}"`,
  'cache-control': 'no-store',
});

/** The parts of Elysia's context that a handler reads. */
interface Handled {
  /** Absent if the path has no parameters. */
  readonly params?: Readonly<Record<string, string | undefined>>;
  readonly body: unknown;
  readonly request: Request;
  readonly set: { readonly headers: Record<string, string | number> };
}

const ONE_OF_TWO =
  ' With `If-Match`, the change is made only if that is the current `etag`. Without it, the last of two concurrent changes wins.';

function documented(operation: Operation) {
  const {
    action,
    tag,
    counts,
    bodyMax,
    method,
    input,
    summary,
    details,
    answer,
    output,
    text,
    differs,
    examples,
    errorField,
    isTagged,
    takesTags,
  } = operation;
  const isBodiless = !input && method !== 'GET';
  return routeDocs({
    access: action,
    ...(tag !== undefined && { tag }),
    ...(counts && { counts }),
    ...(isBodiless && { body: 'none' as const }),
    ...(bodyMax !== undefined && { body: bodyMax }),
    summary,
    description: `${details}${takesTags ? ONE_OF_TWO : ''}${isBodiless ? ' The body is ignored.' : ''}`,
    answer: {
      schema: output,
      description: answer,
      ...(differs && { differs }),
      ...(text && (output.type === 'string' ? { mediaType: text.mediaType, example: text.example } : { text })),
    },
    ...(isTagged && { headers: { etag: 'The version, to send as `If-Match`.' } }),
    ...(examples && { requests: examples }),
    ...(errorField !== undefined && { errorField }),
    errors: errorsOf(operation),
  });
}

/** The query for the document. Elysia accepts any text, so that one function refuses invalid values. */
const openQuery = ({ properties }: TSchema) =>
  t.Object(
    Object.fromEntries(
      Object.entries(properties as Record<string, TSchema>).map(([name, field]) => [
        name,
        t.Optional(t.Any(queryForm(field))),
      ]),
    ),
  );

/** The documented form of a parameter. A map is given as texts of the form name=value. */
function queryForm(field: TSchema): object {
  const { description } = field;
  if (isMap(field)) return { type: 'array', items: { type: 'string', pattern: '^[^=]+=' }, description };
  const words = wordsOf(field);
  return words.length > 0 ? { type: 'string', enum: words, description } : { ...field };
}

/**
 * Parses a query according to its schema.
 * @throws SignalboxError
 */
function queryOf({ properties }: TSchema, url: string): object {
  const query = new URL(url).searchParams;
  return Object.fromEntries(
    Object.entries(properties as Record<string, TSchema>).flatMap(([name, field]) => {
      const texts = query.getAll(name);
      return texts.length === 0 ? [] : [[name, parsedValue(name, field, texts)]];
    }),
  );
}

/** The tags in `If-Match`, with or without quotes; null for `*` or no header. */
function tagsIn(headers: Headers): readonly string[] | null {
  const text = headers.get('if-match')?.trim() ?? '*';
  return text === '*' ? null : text.split(',').map((tag) => tag.trim().replace(/^"(.*)"$/, '$1'));
}
