let document: Promise<unknown> | undefined;

/**
 * Returns the OpenAPI document. All servers with the shipped dialects have the same document, and a server takes 0.4 s of CPU to create it.
 * A test process therefore reads it from one server.
 * @param url of a server with the shipped dialects
 */
export async function openApiOf<Document>(url: string): Promise<Document> {
  document ??= fetch(`${url}/openapi.json`).then((answer) => answer.json());
  return (await document) as Document;
}
