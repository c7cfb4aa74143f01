// Does what VS Code does with a language server, by the libraries that VS Code is made of.
// Arguments: the vault's folder, then the server's command line. Prints one JSON document.
import { spawn } from "node:child_process";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import {
  ApplyWorkspaceEditRequest, CodeActionRequest, CompletionRequest, CompletionResolveRequest,
  ConfigurationRequest, createProtocolConnection, DefinitionRequest, DidChangeTextDocumentNotification,
  DidCloseTextDocumentNotification, DidOpenTextDocumentNotification, DidSaveTextDocumentNotification,
  DocumentSymbolRequest, ExecuteCommandRequest, ExitNotification, HoverRequest, InitializedNotification,
  InitializeRequest, LogMessageNotification, PrepareRenameRequest, PublishDiagnosticsNotification,
  ReferencesRequest, RegistrationRequest, RenameRequest, ShowMessageNotification, ShutdownRequest,
  StreamMessageReader, StreamMessageWriter, WorkspaceSymbolRequest,
} from "vscode-languageserver-protocol/node";
import { TextDocument } from "vscode-languageserver-textdocument";

const [folder, command, ...line] = process.argv.slice(2);
// What VS Code 1.9x says of itself, as far as it concerns this server.
const dynamic = { dynamicRegistration: true };
const capabilities = {
  general: { positionEncodings: ["utf-16"], staleRequestSupport: { cancel: true, retryOnContentModified: [] } },
  window: { workDoneProgress: true, showMessage: { messageActionItem: { additionalPropertiesSupport: true } } },
  workspace: {
    applyEdit: true,
    configuration: true,
    didChangeWatchedFiles: { ...dynamic, relativePatternSupport: true },
    symbol: { ...dynamic, resolveSupport: { properties: ["location.range"] } },
    workspaceEdit: {
      documentChanges: true,
      resourceOperations: ["create", "rename", "delete"],
      failureHandling: "textOnlyTransactional",
      normalizesLineEndings: true,
      changeAnnotationSupport: { groupsOnLabel: true },
    },
    workspaceFolders: true,
  },
  textDocument: {
    synchronization: { ...dynamic, willSave: true, willSaveWaitUntil: true, didSave: true },
    completion: {
      ...dynamic,
      contextSupport: true,
      completionItem: {
        snippetSupport: true, documentationFormat: ["markdown", "plaintext"], insertReplaceSupport: true,
        resolveSupport: { properties: ["documentation", "detail", "additionalTextEdits"] },
        labelDetailsSupport: true,
      },
      completionList: { itemDefaults: ["commitCharacters", "editRange", "insertTextFormat", "data"] },
    },
    hover: { ...dynamic, contentFormat: ["markdown", "plaintext"] },
    definition: { ...dynamic, linkSupport: true },
    references: dynamic,
    documentSymbol: { ...dynamic, hierarchicalDocumentSymbolSupport: true },
    codeAction: {
      ...dynamic, isPreferredSupport: true, dataSupport: true, honorsChangeAnnotations: true,
      resolveSupport: { properties: ["edit"] },
      codeActionLiteralSupport: { codeActionKind: { valueSet: ["", "quickfix", "refactor", "source"] } },
    },
    rename: { ...dynamic, prepareSupport: true, prepareSupportDefaultBehavior: 1 },
    publishDiagnostics: { relatedInformation: true, versionSupport: false, tagSupport: { valueSet: [1, 2] } },
    inlayHint: { ...dynamic, resolveSupport: { properties: ["tooltip"] } },
    foldingRange: { ...dynamic, rangeLimit: 5000, lineFoldingOnly: true },
    documentLink: { ...dynamic, tooltipSupport: true },
  },
};

const server = spawn(command, line, { stdio: ["pipe", "pipe", "inherit"] });
const ended = new Promise((resolve) => server.on("exit", resolve));
const connection = createProtocolConnection(
  new StreamMessageReader(server.stdout), new StreamMessageWriter(server.stdin));
const documents = new Map();
const diagnostics = new Map();
const messages = [];
const waiting = [];

const uri = (name) => pathToFileURL(join(folder, name)).href;
const identity = (name) => ({ textDocument: { uri: uri(name) } });

function open(name) {
  const text = readFileSync(join(folder, name), "utf8");
  const document = TextDocument.create(uri(name), "markdown", 1, text);
  documents.set(document.uri, document);
  const { uri: id, languageId, version } = document;
  connection.sendNotification(
    DidOpenTextDocumentNotification.type, { textDocument: { uri: id, languageId, version, text } });
}

function change(id, edits) {
  const before = documents.get(id);
  const text = TextDocument.applyEdits(before, edits);
  const document = TextDocument.create(id, "markdown", before.version + 1, text);
  documents.set(id, document);
  connection.sendNotification(DidChangeTextDocumentNotification.type, {
    textDocument: { uri: id, version: document.version }, contentChanges: [{ text }],
  });
}

function save(name) {
  writeFileSync(join(folder, name), documents.get(uri(name)).getText());
  connection.sendNotification(DidSaveTextDocumentNotification.type, identity(name));
}

function close(id) {
  documents.delete(id);
  connection.sendNotification(DidCloseTextDocumentNotification.type, { textDocument: { uri: id } });
}

// VS Code changes open documents in memory, and renames a file that is open by closing and opening it.
function apply({ edit }) {
  for (const each of edit.documentChanges ?? []) {
    if (each.kind === "rename") {
      const [from, to] = [fileURLToPath(each.oldUri), fileURLToPath(each.newUri)];
      const text = documents.get(each.oldUri)?.getText();
      renameSync(from, to);
      if (text !== undefined) {
        close(each.oldUri);
        writeFileSync(to, text);
        open(to.slice(folder.length + 1));
      }
    } else {
      const document = documents.get(each.textDocument.uri);
      if (document === undefined || document.version !== (each.textDocument.version ?? document.version)) {
        return { applied: false };
      }
      change(document.uri, each.edits);
    }
  }
  return { applied: true };
}

function at(name, text, behind = 0) {
  const document = documents.get(uri(name));
  const offset = document.getText().indexOf(text);
  if (offset < 0) throw new Error(`${text} is not in ${name}`);
  return { ...identity(name), position: document.positionAt(offset + behind) };
}

function published(name, holds) {
  return new Promise((resolve) => {
    const look = () => {
      const found = diagnostics.get(uri(name));
      if (found === undefined || !holds(found)) return false;
      resolve(found.map((each) => each.message));
      return true;
    };
    if (!look()) waiting.push(look);
  });
}

connection.onNotification(PublishDiagnosticsNotification.type, (found) => {
  diagnostics.set(found.uri, found.diagnostics);
  for (const look of waiting.splice(0)) if (!look()) waiting.push(look);
});
connection.onNotification(ShowMessageNotification.type, (shown) => messages.push(shown.message));
connection.onNotification(LogMessageNotification.type, (shown) => messages.push(shown.message));
connection.onRequest(ApplyWorkspaceEditRequest.type, apply);
connection.onRequest(ConfigurationRequest.type, ({ items }) => items.map(() => null));
connection.onRequest(RegistrationRequest.type, () => {});
connection.listen();

const ask = (kind, params) => connection.sendRequest(kind.type, params);
const root = pathToFileURL(folder).href;
const result = {};
const greeting = await ask(InitializeRequest, {
  processId: process.pid, clientInfo: { name: "Visual Studio Code", version: "1.96.0" }, locale: "en",
  rootPath: folder, rootUri: root, capabilities, trace: "off",
  workspaceFolders: [{ uri: root, name: "notes" }],
});
result.encoding = greeting.capabilities.positionEncoding ?? "utf-16";
connection.sendNotification(InitializedNotification.type, {});

open("new.md");
open("Walrus.md");
result.broken = await published("new.md", (found) => found.length > 0);
const list = await ask(CompletionRequest, { ...at("new.md", "[[Wal", 5), context: { triggerKind: 1 } });
result.labels = list.items.map((each) => each.label);
const resolved = await ask(CompletionResolveRequest, list.items[0]);
result.documentation = resolved.documentation.value;
change(uri("new.md"), [resolved.textEdit]);
result.completed = documents.get(uri("new.md")).getText();
result.hover = (await ask(HoverRequest, at("new.md", "[[Walrus", 4))).contents.value;
const [definition] = [await ask(DefinitionRequest, at("new.md", "[[Walrus", 4))].flat();
result.definition = definition.targetUri ?? definition.uri;
result.references = (await ask(ReferencesRequest, {
  ...at("new.md", "[[Walrus", 4), context: { includeDeclaration: false },
})).map((each) => each.uri).sort();
result.symbols = (await ask(DocumentSymbolRequest, identity("Walrus.md"))).map((each) => each.name);
result.found = (await ask(WorkspaceSymbolRequest, { query: "walrus" })).map((each) => each.name);

result.placeholder = (await ask(PrepareRenameRequest, at("new.md", "[[Walrus", 4))).placeholder;
await ask(RenameRequest, { ...at("new.md", "[[Walrus", 4), newName: "Sea cow" });
result.renamed = documents.get(uri("new.md")).getText();
result.open = [...documents.keys()].sort();
change(uri("new.md"), [{ ...{ range: rangeOf("new.md", "Not [[Nowhere]].") }, newText: "Fine." }]);
save("new.md");
result.mended = await published("new.md", (found) => found.length === 0);

const start = { line: 0, character: 0 };
const actions = await ask(CodeActionRequest, {
  ...identity("Sea cow.md"), range: { start, end: start }, context: { diagnostics: [], triggerKind: 1 },
});
result.actions = actions.map((each) => each.title);
const accept = actions.find((each) => each.title.startsWith("Link to"));
if (accept !== undefined) {
  const { command: name, arguments: given } = accept.command;
  await ask(ExecuteCommandRequest, { command: name, arguments: given });
}
result.messages = messages;
await connection.sendRequest(ShutdownRequest.type);
await connection.sendNotification(ExitNotification.type);
result.code = await ended;
console.log(JSON.stringify(result));

function rangeOf(name, text) {
  const document = documents.get(uri(name));
  const offset = document.getText().indexOf(text);
  return { start: document.positionAt(offset), end: document.positionAt(offset + text.length) };
}
