import { isObject, objectsIn, parseJson, textOf } from '../../core/json/object.ts';
import type { IssuerKeys, KeySet } from '../../core/people/token-issuer.ts';
import { outbound } from '../../host/outbound.ts';

/** The time limit of reading one document, ms. The most bytes follow below. */
const WITHIN_MS = 5_000;
const DOCUMENT_BYTES_MAX = 65_536;
const KEYS_BYTES_MAX = 262_144;
const KEYS_MAX = 100;

/** The keys of an issuer could not be read. The message is a part of a sentence for operators. */
class KeysUnreadable extends Error {
  override readonly name = 'KeysUnreadable';
}

/** A source of keys on another host. */
export type RemoteKeys = Exclude<IssuerKeys, { readonly from: 'policy' }>;

/**
 * Reads the keys of an issuer: from the URL in the policy, or from the URL in the discovery document. A URL from the discovery document
 * must be on the issuer's own host, so that a document that others can edit cannot send Signalbox to another host.
 * @throws KeysUnreadable, OutboundError
 */
export async function readKeys(source: RemoteKeys, issuer: string): Promise<KeySet> {
  const url = source.from === 'url' ? source.url : await discovered(source, issuer);
  const found = objectsIn((await documentAt(url, source.allowPrivate, KEYS_BYTES_MAX)).keys);
  if (found.length === 0 || found.length > KEYS_MAX) {
    throw new KeysUnreadable(`the document with its keys has ${found.length} keys`);
  }
  return { keys: found };
}

async function discovered({ url, allowPrivate }: RemoteKeys, issuer: string): Promise<string> {
  const document = await documentAt(url, allowPrivate, DOCUMENT_BYTES_MAX);
  if (document.issuer !== issuer) throw new KeysUnreadable('its discovery document belongs to another issuer');
  const keys = URL.parse(textOf(document.jwks_uri));
  if (!keys) throw new KeysUnreadable('its discovery document has no URL of keys');
  if (keys.origin !== new URL(url).origin) {
    throw new KeysUnreadable('its discovery document names keys on another host; set their URL in `jwks_url`');
  }
  return keys.href;
}

async function documentAt(url: string, allowPrivate: boolean, bytesMax: number) {
  const headers = { accept: 'application/json' };
  const limits = { allowPrivate, timeoutMs: WITHIN_MS, bytesMax };
  const { status, text, isCut } = await outbound({ url, method: 'GET', headers, ...limits });
  const { host } = new URL(url);
  if (status >= 300 && status < 400) throw new KeysUnreadable(`${host} redirects, and redirects are not followed`);
  if (status !== 200) throw new KeysUnreadable(`${host} answers with status ${status}`);
  if (isCut) throw new KeysUnreadable(`${host} answers with more than ${bytesMax} bytes`);
  const document = parseJson(text);
  if (!isObject(document)) throw new KeysUnreadable(`${host} does not answer with JSON`);
  return document;
}
