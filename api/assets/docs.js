"use strict";

// Renders /openapi.json. All text goes in as text nodes, so that nothing in it can become markup.
const make = (tag, text, attributes = {}) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
};

const row = (cells, tag = "td") => {
  const line = make("tr");
  for (const cell of cells) line.append(make(tag, cell));
  return line;
};

const table = (head, rows) => {
  const element = make("table");
  element.append(row(head, "th"), ...rows.map((cells) => row(cells)));
  return element;
};

// A schema with the schemas that it names written out, each once on the way down.
const unfold = (schema, all, seen = []) => {
  if (Array.isArray(schema)) return schema.map((one) => unfold(one, all, seen));
  if (schema === null || typeof schema !== "object") return schema;
  if (typeof schema.$ref === "string") {
    const name = schema.$ref.split("/").pop();
    return seen.includes(name) ? { see: name } : unfold(all[name], all, [...seen, name]);
  }
  const found = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key !== "title" || typeof value !== "string") found[key] = unfold(value, all, seen);
  }
  return found;
};

const showSchema = (title, content, all) => {
  const parts = [];
  for (const [media, { schema }] of Object.entries(content ?? {})) {
    const details = make("details");
    details.append(make("summary", `${title}, ${media}`));
    details.append(make("pre", JSON.stringify(unfold(schema, all), null, 2)));
    parts.push(details);
  }
  return parts;
};

const showOperation = (path, method, operation, all) => {
  const details = make("details", undefined, { id: operation.operationId });
  const summary = make("summary");
  summary.append(make("code", method.toUpperCase(), { class: "method" }), make("code", ` ${path} `));
  summary.append(document.createTextNode(operation.summary));
  details.append(summary, make("p", operation.description));
  if (operation.parameters) {
    details.append(make("h3", "Parameters"));
    details.append(table(["name", "in", "schema", "meaning"], operation.parameters.map((one) => [
      one.name, one.in, JSON.stringify(one.schema), one.description ?? "",
    ])));
  }
  if (operation.requestBody) details.append(...showSchema("Body", operation.requestBody.content, all));
  details.append(make("h3", "Answers"));
  const answers = Object.entries(operation.responses);
  details.append(table(["status", "meaning"], answers.map(([status, one]) => [status, one.description])));
  for (const [status, one] of answers) {
    if (Number(status) < 300) details.append(...showSchema(`Answer ${status}`, one.content, all));
  }
  return details;
};

const show = (spec) => {
  document.getElementById("about").textContent = `Version ${spec.info.version}. ${spec.info.description}`;
  const groups = new Map();
  for (const [path, methods] of Object.entries(spec.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const tag = operation.tags[0];
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push([path, method, operation]);
    }
  }
  const index = document.getElementById("index");
  const main = document.getElementById("routes");
  for (const [tag, operations] of groups) {
    main.append(make("h2", tag));
    for (const [path, method, operation] of operations) {
      main.append(showOperation(path, method, operation, spec.components.schemas));
      const link = make("a", undefined, { href: `#${operation.operationId}` });
      link.append(make("code", `${method.toUpperCase()} ${path}`));
      link.addEventListener("click", () => {
        document.getElementById(operation.operationId).open = true;
      });
      index.append(link);
    }
  }
};

fetch("/openapi.json")
  .then((response) => response.json())
  .then(show)
  .catch((error) => {
    document.getElementById("about").textContent = `The document could not be read: ${error}`;
  });
