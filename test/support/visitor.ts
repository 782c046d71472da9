/** A browser without a screen: it stores cookies for each origin and follows redirects one by one. */
export class Visitor {
  readonly cookies = new Map<string, Map<string, string>>();

  /** @param origin the origin of the page that sends the request; absent if the user typed the address */
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

  /**
   * Follows redirects until `isEnd` accepts an address, or a page arrives. @returns the last address and its answer; no answer for an
   * address that `isEnd` accepts
   */
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

  /** Signs in on the login page of the provider if a redirect leads to it. @returns the same as `follow` */
  async signIn(url: string, sub: string, isEnd?: (url: string) => boolean) {
    const shown = await this.follow(url, isEnd);
    if (!shown.response || !shown.url.includes('/interaction/')) return shown;
    const body = new URLSearchParams({ prompt: 'login', login: sub, password: 'x' });
    const sent = await this.go(shown.url, { method: 'POST', body });
    const next = sent.headers.get('location');
    if (next === null) throw new Error(`the provider answered ${sent.status}: ${await sent.text()}`);
    return this.follow(new URL(next, shown.url).href, isEnd);
  }

  /** Returns the value of a cookie at an origin. */
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
