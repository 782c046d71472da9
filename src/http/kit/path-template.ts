const PARAMETER = /^([^{]*)\{(\w+)\}(.*)$/;

const NONE: Readonly<Record<string, string>> = {};

/**
 * A path with at most one parameter, which may have a suffix: `/v1beta/models/{model}:generateContent`. The router knows no such suffix, so
 * paths that begin alike share one pattern of the router.
 */
export class PathTemplate {
  /** The pattern under which the router knows the path. */
  readonly routerPattern: string;
  readonly #name: string | null;
  readonly #prefix: string;
  readonly #suffix: string;

  constructor(template: string) {
    const [, prefix = template, name = null, suffix = ''] = PARAMETER.exec(template) ?? [];
    this.#name = name;
    this.#prefix = prefix;
    this.#suffix = suffix;
    this.routerPattern = name === null ? template : `${prefix}*`;
  }

  matches(path: string): boolean {
    if (this.#name === null) return path === this.#prefix;
    return (
      path.length > this.#prefix.length + this.#suffix.length &&
      path.startsWith(this.#prefix) &&
      path.endsWith(this.#suffix)
    );
  }

  /** Returns the value of the parameter in a path that matches. A value that cannot be decoded stays as it is. */
  paramsOf(path: string): Readonly<Record<string, string>> {
    if (this.#name === null) return NONE;
    const value = path.slice(this.#prefix.length, path.length - this.#suffix.length);
    try {
      return { [this.#name]: decodeURIComponent(value) };
    } catch {
      return { [this.#name]: value };
    }
  }
}

/** Whether a path has a parameter. */
export const isTemplate = (path: string): boolean => path.includes('{');

/** Writes a template for a router that takes each colon for the beginning of a parameter. The OpenAPI document shows the template again. */
export const escapedTemplate = (template: string): string => template.replaceAll(':', '%3A');
export const unescapedTemplate = (path: string): string => (isTemplate(path) ? path.replaceAll('%3A', ':') : path);

/** Returns the path of a template with this value of its parameter. */
export const filledPath = (template: string, value: string): string =>
  template.replace(/\{\w+\}/, () => encodeURIComponent(value));
