/** A browser without a screen: cookies by origin, and redirects one by one. */
export class Visitor {
  readonly cookies = new Map<string, Map<string, string>>();

  /** @param origin of the page that sends it; none where it was typed */
  async go(url: string, init: RequestInit & { readonly origin?: string } = {}): Promise<Response> {
    const { origin, ...rest } = init;
    const jar = this.#jarOf(url);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = new Headers(rest.headers);
    if (cookie !== '' && !headers.has('cookie')) headers.set('cookie', cookie);
    if (origin !== undefined) headers.set('origin', origin);
    const response = await fetch(url, { ...rest, headers, redirect: 'manual' });
    for (const text of response.headers.getSetCookie()) {
      const [pair = ''] = text.split(';');
      const [name = '', value = ''] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)];
      if (value === '' || /max-age=0|expires=thu, 01 jan 1970/i.test(text)) jar.delete(name);
      else jar.set(name, value);
    }
    return response;
  }

  /** Follows redirects until `isEnd` holds, or a page comes. @returns the last address and its answer; of an address that `isEnd` holds for, none */
  async follow(
    url: string,
    isEnd: (url: string) => boolean = () => false,
  ): Promise<{ url: string; response: Response | null }> {
    for (let at = url, hops = 0; ; hops++) {
      if (isEnd(at)) return { url: at, response: null };
      if (hops > 12) throw new Error(`too many redirects: ${at}`);
      const response = await this.go(at);
      const location = response.headers.get('location');
      if (location === null) return { url: at, response };
      at = new URL(location, at).href;
    }
  }

  /** Signs in at the login page of the provider, where a redirect leads to it. @returns as `follow` */
  async signIn(url: string, sub: string, isEnd?: (url: string) => boolean) {
    const shown = await this.follow(url, isEnd);
    if (!shown.response || !shown.url.includes('/interaction/')) return shown;
    const body = new URLSearchParams({ prompt: 'login', login: sub, password: 'x' });
    const sent = await this.go(shown.url, { method: 'POST', body });
    const next = sent.headers.get('location');
    if (next === null) throw new Error(`the provider answered ${sent.status}: ${await sent.text()}`);
    return this.follow(new URL(next, shown.url).href, isEnd);
  }

  /** The value of a cookie at an origin. */
  cookie(url: string, name: string): string | undefined {
    return this.#jarOf(url).get(name);
  }

  #jarOf(url: string): Map<string, string> {
    const { origin } = new URL(url);
    const jar = this.cookies.get(origin) ?? new Map();
    this.cookies.set(origin, jar);
    return jar;
  }
}
