import type { RouteServices } from './route-services.ts';

/** The approximate length of a piece, in characters. A single line may be longer. */
const PIECE_CHARS = 65_536;

interface ExportTerms extends Pick<RouteServices, 'server' | 'stalledS'> {
  readonly request: Request;
  readonly headers: Readonly<Record<string, string>>;
  /** Called when the export is no longer in memory. The export may call `onEnd` twice. */
  onEnd(): void;
}

/**
 * Streams the lines of an export as fast as the client reads: the next lines are read only when the client has taken the previous piece. A
 * client that reads nothing for `stalledS` seconds is disconnected. Producing the lines may take any time.
 * @returns a promise that rejects with the error of the first piece, so that the client gets an error response
 */
export async function exportResponse(lines: AsyncGenerator<string>, terms: ExportTerms): Promise<Response> {
  const { request, headers, onEnd, server, stalledS } = terms;
  const pieces = piecesOf(lines);
  const next = async () => {
    server()?.timeout(request, 0);
    const { done, value } = await pieces.next();
    server()?.timeout(request, stalledS);
    return done ? null : value;
  };
  const end = async () => {
    onEnd();
    await pieces.return();
  };
  const orEnd = async (cause: unknown) => {
    await end();
    throw cause;
  };
  let first = await next().catch(orEnd);
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = first ?? (await next().catch(orEnd));
        first = null;
        if (piece) return controller.enqueue(piece);
        onEnd();
        controller.close();
      },
      cancel: end,
    },
    // Nothing is read ahead of the client.
    { highWaterMark: 0 },
  );
  return new Response(body, { headers });
}

async function* piecesOf(lines: AsyncGenerator<string>): AsyncGenerator<Uint8Array, void, void> {
  const encoder = new TextEncoder();
  let text = '';
  for await (const line of lines) {
    text += line;
    if (text.length < PIECE_CHARS) continue;
    yield encoder.encode(text);
    text = '';
  }
  if (text !== '') yield encoder.encode(text);
}
