<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
    <context>
        <name>Slipstream</name>
        <message>
            <location filename="../../app/application.py" />
            <source>Downloading models</source>
            <translation>Modelle werden geladen</translation>
        </message>
        <message>
            <location filename="../../app/application.py" />
            <source>Generating a reply</source>
            <translation>Eine Antwort wird erzeugt</translation>
        </message>
        <message>
            <location filename="../../app/application.py" />
            <source>Measuring speed</source>
            <translation>Geschwindigkeit wird gemessen</translation>
        </message>
        <message>
            <location filename="../../app/application.py" />
            <source>Slipstream quit unexpectedly last time. For details, choose Help ▸ Report a Problem.</source>
            <translation>Slipstream wurde beim letzten Mal unerwartet beendet. Wählen Sie für Details „Hilfe ▸ Problem melden“.</translation>
        </message>
        <message>
            <location filename="../../app/application.py" />
            <source>Something went wrong in Slipstream. Details are in {log_file}.</source>
            <translation>In Slipstream ist etwas schiefgegangen. Details stehen in {log_file}.</translation>
        </message>
        <message>
            <location filename="../../app/application.py" />
            <source>Tuning a drafter</source>
            <translation>Drafter wird angepasst</translation>
        </message>
        <message>
            <location filename="../../app/rendering/code_view.py" />
            <source>Can't open this in a browser. Check that a default browser is set, and that the disk isn't full.</source>
            <translation>Lässt sich nicht im Browser öffnen. Prüfen Sie, ob ein Standardbrowser festgelegt und der Datenträger nicht voll ist.</translation>
        </message>
        <message>
            <location filename="../../app/rendering/code_view.py" />
            <source>Code</source>
            <translation>Code</translation>
        </message>
        <message>
            <location filename="../../app/rendering/code_view.py" />
            <source>Copy code</source>
            <translation>Code kopieren</translation>
        </message>
        <message>
            <location filename="../../app/rendering/code_view.py" />
            <source>Open in Browser</source>
            <translation>Im Browser öffnen</translation>
        </message>
        <message>
            <location filename="../../app/rendering/code_view.py" />
            <source>Open in the browser, which runs its scripts</source>
            <translation>Im Browser öffnen, der die Skripte ausführt</translation>
        </message>
        <message>
            <location filename="../../app/rendering/code_view.py" />
            <source>Wrap</source>
            <translation>Umbruch</translation>
        </message>
        <message>
            <location filename="../../app/rendering/code_view.py" />
            <source>Wrap long lines</source>
            <translation>Lange Zeilen umbrechen</translation>
        </message>
        <message>
            <location filename="../../app/rendering/page_links.py" />
            <source>Show page {number}</source>
            <translation>Seite {number} anzeigen</translation>
        </message>
        <message>
            <location filename="../../app/rendering/page_links.py" />
            <source>Show {page}</source>
            <translation>{page} anzeigen</translation>
        </message>
        <message>
            <location filename="../../app/rendering/page_links.py" />
            <source>{name}, page {number}</source>
            <translation>{name}, Seite {number}</translation>
        </message>
        <message>
            <location filename="../../app/rendering/table_view.py" />
            <source>Table</source>
            <translation>Tabelle</translation>
        </message>
        <message>
            <location filename="../../app/rendering/table_view.py" />
            <source>Table rows</source>
            <translation>Tabellenzeilen</translation>
        </message>
        <message>
            <location filename="../../app/rendering/text_marks.py" />
            <source>Copied from earlier text</source>
            <translation>Aus früherem Text kopiert</translation>
        </message>
        <message>
            <location filename="../../app/rendering/text_marks.py" />
            <source>Drafted and accepted</source>
            <translation>Entworfen und angenommen</translation>
        </message>
        <message>
            <location filename="../../app/rendering/text_marks.py" />
            <source>From the target model</source>
            <translation>Vom Zielmodell</translation>
        </message>
        <message>
            <location filename="../../app/rendering/text_marks.py" />
            <source>Legend for token sources</source>
            <translation>Legende für Token-Quellen</translation>
        </message>
        <message>
            <location filename="../../app/rendering/text_view.py" />
            <source>Text</source>
            <translation>Text</translation>
        </message>
        <message>
            <location filename="../../app/session/activity.py" />
            <source>A comparison is running. Wait for it to finish, or stop it.</source>
            <translation>Ein Vergleich läuft. Warten Sie, bis er fertig ist, oder stoppen Sie ihn.</translation>
        </message>
        <message>
            <location filename="../../app/session/activity.py" />
            <source>A reply is being generated in “{title}”. Wait for it to finish, or stop it there.</source>
            <translation>In „{title}“ wird eine Antwort erzeugt. Warten Sie, bis sie fertig ist, oder stoppen Sie sie dort.</translation>
        </message>
        <message>
            <location filename="../../app/session/activity.py" />
            <source>A reply is being generated. Wait for it to finish, or stop it.</source>
            <translation>Eine Antwort wird erzeugt. Warten Sie, bis sie fertig ist, oder stoppen Sie sie.</translation>
        </message>
        <message>
            <location filename="../../app/session/activity.py" />
            <source>A summary is being written. Wait for it to finish, or cancel it.</source>
            <translation>Eine Zusammenfassung wird geschrieben. Warten Sie, bis sie fertig ist, oder brechen Sie sie ab.</translation>
        </message>
        <message>
            <location filename="../../app/session/activity.py" />
            <source>No models are loaded.</source>
            <translation>Es sind keine Modelle geladen.</translation>
        </message>
        <message>
            <location filename="../../app/session/activity.py" />
            <source>The models are still loading. Try again in a moment.</source>
            <translation>Die Modelle werden noch geladen. Versuchen Sie es gleich noch einmal.</translation>
        </message>
        <message>
            <location filename="../../app/session/activity.py" />
            <source>This chat is private, so it isn't sent to {host}. Choose a model on this computer.</source>
            <translation>Dieser Chat ist privat und wird nicht an {host} gesendet. Wählen Sie ein Modell auf diesem Computer.</translation>
        </message>
        <message>
            <location filename="../../app/session/activity.py" />
            <source>“{title}” needs your approval for a tool call. Respond there, or stop the reply.</source>
            <translation>„{title}“ braucht Ihre Erlaubnis für einen Werkzeugaufruf. Entscheiden Sie dort, oder stoppen Sie die Antwort.</translation>
        </message>
        <message>
            <location filename="../../app/session/attachment_reader.py" />
            <source>A message can't have more than {limit} files.</source>
            <translation>Eine Nachricht kann höchstens {limit} Dateien haben.</translation>
        </message>
        <message>
            <location filename="../../app/session/attachment_reader.py" />
            <source>Can't read “{name}”.</source>
            <translation>„{name}“ kann nicht gelesen werden.</translation>
        </message>
        <message>
            <location filename="../../app/session/attachment_reader.py" />
            <source>Pasted text {number}</source>
            <translation>Eingesetzter Text {number}</translation>
        </message>
        <message>
            <location filename="../../app/session/attachment_reader.py" />
            <source>{count} more files can't be attached.</source>
            <translation>{count} weitere Dateien können nicht angehängt werden.</translation>
        </message>
        <message>
            <location filename="../../app/session/background_work.py" />
            <source>Something went wrong ({error}). See the log for details.</source>
            <translation>Etwas ist schiefgegangen ({error}). Näheres steht im Protokoll.</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>Add Messages</source>
            <translation>Nachrichten hinzufügen</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>Added the new messages to {chats}.</source>
            <translation>Die neuen Nachrichten wurden in {chats} hinzugefügt.</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>Archived {count} chats</source>
            <translation>{count} Chats archiviert</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>Archived “{title}”</source>
            <translation>„{title}“ archiviert</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>Deleted the project “{name}”</source>
            <translation>Projekt „{name}“ gelöscht</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>Deleted {count} chats</source>
            <translation>{count} Chats gelöscht</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>Deleted “{title}”</source>
            <translation>„{title}“ gelöscht</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>Import canceled. No chats were added.</source>
            <translation>Import abgebrochen. Es wurden keine Chats hinzugefügt.</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>New Project</source>
            <translation>Neues Projekt</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>Show</source>
            <translation>Anzeigen</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>Undo</source>
            <translation>Widerrufen</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>Undo &amp;Archive</source>
            <translation>&amp;Archivieren widerrufen</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>Undo &amp;Delete</source>
            <translation>Löschen wi&amp;derrufen</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>Undo &amp;Import</source>
            <translation>I&amp;mport widerrufen</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>Your chats are being saved again.</source>
            <translation>Ihre Chats werden wieder gesichert.</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>{count} files</source>
            <translation>{count} Dateien</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>{title} copy</source>
            <translation>{title} (Kopie)</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_session.py" />
            <source>Open Chat</source>
            <translation>Chat öffnen</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_session.py" />
            <source>The earlier summary replaces the older messages again.</source>
            <translation>Die frühere Zusammenfassung ersetzt wieder die älteren Nachrichten.</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_session.py" />
            <source>The model reads the older messages again.</source>
            <translation>Das Modell liest die älteren Nachrichten wieder.</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_session.py" />
            <source>The reply in “{title}” can't be continued.</source>
            <translation>Die Antwort in „{title}“ kann nicht fortgesetzt werden.</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_session.py" />
            <source>Write a message first.</source>
            <translation>Schreiben Sie zuerst eine Nachricht.</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>&amp;Compare Last Prompt</source>
            <translation>Letzten Prompt &amp;vergleichen</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>&amp;Delete</source>
            <translation>&amp;Löschen</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>&amp;Delete {count} Chats</source>
            <translation>{count} Chats &amp;löschen</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>&amp;Edit Last Message</source>
            <translation>Letzte Nachricht &amp;bearbeiten</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>&amp;New Chat</source>
            <translation>&amp;Neuer Chat</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>&amp;Next Chat</source>
            <translation>Nä&amp;chster Chat</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>&amp;Pin Chat</source>
            <translation>Chat an&amp;heften</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>&amp;Regenerate Reply</source>
            <translation>Antwort neu &amp;erzeugen</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>&amp;Stop</source>
            <translation>&amp;Stopp</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>&amp;Thinking</source>
            <translation>Nach&amp;denken</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Archive</source>
            <translation>Archivieren</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Compact</source>
            <translation>Komprimieren</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Contin&amp;ue Reply</source>
            <translation>Ant&amp;wort fortsetzen</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Copy Last Repl&amp;y</source>
            <translation>Letzte Antwort ko&amp;pieren</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Copy Lin&amp;k to Chat</source>
            <translation>Lin&amp;k zum Chat kopieren</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Dupl&amp;icate</source>
            <translation>Dupli&amp;zieren</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Move t&amp;o Project</source>
            <translation>I&amp;n Projekt bewegen</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Ne&amp;xt Version</source>
            <translation>Nächste Ve&amp;rsion</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>New Pr&amp;oject</source>
            <translation>Neues Pr&amp;ojekt</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>New Project…</source>
            <translation>Neues Projekt …</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>None</source>
            <translation>Keines</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Previous &amp;Version</source>
            <translation>V&amp;orherige Version</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Previous C&amp;hat</source>
            <translation>Vorheriger Cha&amp;t</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Rena&amp;me</source>
            <translation>&amp;Umbenennen</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Rolling &amp;Window</source>
            <translation>&amp;Gleitendes Fenster</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Summarize older messages to make room</source>
            <translation>Ältere Nachrichten zusammenfassen, um Platz zu schaffen</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Un&amp;pin Chat</source>
            <translation>Chat nicht mehr an&amp;heften</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Unarchive</source>
            <translation>Aus dem Archiv holen</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Undo Compact</source>
            <translation>Komprimieren widerrufen</translation>
        </message>
        <message>
            <location filename="../../app/session/compaction.py" />
            <source>A message is too long to be summarized, so all messages are kept. Use a rolling window.</source>
            <translation>Eine Nachricht ist zu lang für eine Zusammenfassung. Alle Nachrichten bleiben erhalten. Verwenden Sie ein gleitendes Fenster.</translation>
        </message>
        <message>
            <location filename="../../app/session/compaction.py" />
            <source>A summary replaces the older messages in prompts. They stay in the chat.</source>
            <translation>In Prompts ersetzt eine Zusammenfassung die älteren Nachrichten. Sie bleiben im Chat.</translation>
        </message>
        <message>
            <location filename="../../app/session/compaction.py" />
            <source>The context has too little room for a summary, so all messages are kept. Use a rolling window.</source>
            <translation>Im Kontext ist zu wenig Platz für eine Zusammenfassung. Alle Nachrichten bleiben erhalten. Verwenden Sie ein gleitendes Fenster.</translation>
        </message>
        <message>
            <location filename="../../app/session/compaction.py" />
            <source>The context is nearly full, so older messages are being summarized.</source>
            <translation>Der Kontext ist fast voll. Ältere Nachrichten werden zusammengefasst.</translation>
        </message>
        <message>
            <location filename="../../app/session/compaction.py" />
            <source>The model didn't write a summary. Try again.</source>
            <translation>Das Modell hat keine Zusammenfassung geschrieben. Versuchen Sie es erneut.</translation>
        </message>
        <message>
            <location filename="../../app/session/compaction.py" />
            <source>The summary of “{title}” was canceled because you opened another chat.</source>
            <translation>Die Zusammenfassung von „{title}“ wurde abgebrochen, weil Sie einen anderen Chat geöffnet haben.</translation>
        </message>
        <message>
            <location filename="../../app/session/compaction.py" />
            <source>The summary was too long, so all messages are kept. Try again, or use a rolling window.</source>
            <translation>Die Zusammenfassung war zu lang. Alle Nachrichten bleiben erhalten. Versuchen Sie es erneut oder verwenden Sie ein gleitendes Fenster.</translation>
        </message>
        <message>
            <location filename="../../app/session/compare_run.py" />
            <source>Saved as {file}.</source>
            <translation>Gesichert als {file}.</translation>
        </message>
        <message>
            <location filename="../../app/session/compare_run.py" />
            <source>{pair} on this computer</source>
            <translation>{pair} auf diesem Computer</translation>
        </message>
        <message>
            <location filename="../../app/session/comparer.py" />
            <source>Plain replies aren't available: {why}</source>
            <translation>Normale Antworten sind nicht verfügbar: {why}</translation>
        </message>
        <message>
            <location filename="../../app/session/comparer.py" />
            <source>To compare, load a pair first.</source>
            <translation>Laden Sie zum Vergleichen zuerst ein Paar.</translation>
        </message>
        <message>
            <location filename="../../app/session/connection_history.py" />
            <source>Connected servers</source>
            <translation>Verbundene Server</translation>
        </message>
        <message>
            <location filename="../../app/session/connection_history.py" />
            <source>Local server</source>
            <translation>Lokaler Server</translation>
        </message>
        <message>
            <location filename="../../app/session/connection_history.py" />
            <source>Model details</source>
            <translation>Angaben zu Modellen</translation>
        </message>
        <message>
            <location filename="../../app/session/connection_history.py" />
            <source>Model downloads</source>
            <translation>Modell-Downloads</translation>
        </message>
        <message>
            <location filename="../../app/session/connection_history.py" />
            <source>Model search</source>
            <translation>Modellsuche</translation>
        </message>
        <message>
            <location filename="../../app/session/connection_history.py" />
            <source>Models on several Macs</source>
            <translation>Modelle auf mehreren Macs</translation>
        </message>
        <message>
            <location filename="../../app/session/connection_history.py" />
            <source>Sign-in</source>
            <translation>Anmeldung</translation>
        </message>
        <message>
            <location filename="../../app/session/connection_history.py" />
            <source>Tool servers</source>
            <translation>Werkzeugserver</translation>
        </message>
        <message>
            <location filename="../../app/session/connection_history.py" />
            <source>Update check</source>
            <translation>Suche nach Updates</translation>
        </message>
        <message>
            <location filename="../../app/session/connection_history.py" />
            <source>ended by Offline</source>
            <translation>durch „Offline“ beendet</translation>
        </message>
        <message>
            <location filename="../../app/session/connection_history.py" />
            <source>failed</source>
            <translation>fehlgeschlagen</translation>
        </message>
        <message>
            <location filename="../../app/session/connection_history.py" />
            <source>open</source>
            <translation>offen</translation>
        </message>
        <message>
            <location filename="../../app/session/connection_history.py" />
            <source>refused by Offline</source>
            <translation>durch „Offline“ abgelehnt</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>1 older message won't be read</source>
            <translation>1 ältere Nachricht wird nicht gelesen</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>Chat template</source>
            <translation>Chat-Vorlage</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>Earlier messages</source>
            <translation>Frühere Nachrichten</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>Files</source>
            <translation>Dateien</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>Images</source>
            <translation>Bilder</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>Results of tools</source>
            <translation>Ergebnisse von Werkzeugen</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>System prompt</source>
            <translation>System-Prompt</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>The message with its files doesn't fit: {tokens}, {left} left</source>
            <translation>Die Nachricht mit ihren Dateien passt nicht: {tokens}, {left} frei</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>The system prompt doesn't fit: {tokens}, {left} left</source>
            <translation>Der System-Prompt passt nicht: {tokens}, {left} frei</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>The text doesn't fit: {tokens}, {left} left</source>
            <translation>Der Text passt nicht: {tokens}, {left} frei</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>The tools don't fit: {tokens}, {left} left</source>
            <translation>Die Werkzeuge passen nicht: {tokens}, {left} frei</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>This chat is full ({limit} tokens)</source>
            <translation>Dieser Chat ist voll ({limit} Token)</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>This message</source>
            <translation>Diese Nachricht</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>Tools</source>
            <translation>Werkzeuge</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>Total: {used} of {limit} tokens</source>
            <translation>Zusammen: {used} von {limit} Token</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>{about}1 token left</source>
            <translation>Noch {about}1 Token</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>{about}{left} tokens left</source>
            <translation>Noch {about}{left} Token</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>{about}{used} of {limit} tokens used · {left} left</source>
            <translation>{about}{used} von {limit} Token belegt · {left} frei</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>{count} of {pages} pages fit</source>
            <translation>{count} von {pages} Seiten passen</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>{count} older messages won't be read</source>
            <translation>{count} ältere Nachrichten werden nicht gelesen</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>{name} doesn't fit: {tokens}, {left} left</source>
            <translation>{name} passt nicht: {tokens}, {left} frei</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>{title}: {tokens}</source>
            <translation>{title}: {tokens}</translation>
        </message>
        <message>
            <location filename="../../app/session/custom_pairs.py" />
            <source>Enter a drafter, or leave the field empty for plain decoding.</source>
            <translation>Geben Sie einen Drafter ein, oder lassen Sie das Feld leer, um normal zu dekodieren.</translation>
        </message>
        <message>
            <location filename="../../app/session/custom_pairs.py" />
            <source>Leave the drafter empty for plain decoding.</source>
            <translation>Lassen Sie den Drafter leer, um normal zu dekodieren.</translation>
        </message>
        <message>
            <location filename="../../app/session/downloads.py" />
            <source>Can't start the download process. If you moved or replaced Slipstream, restart it.</source>
            <translation>Der Download-Prozess lässt sich nicht starten. Wenn Sie Slipstream verschoben oder ersetzt haben, starten Sie es neu.</translation>
        </message>
        <message>
            <location filename="../../app/session/downloads.py" />
            <source>Connecting…</source>
            <translation>Verbinden …</translation>
        </message>
        <message>
            <location filename="../../app/session/downloads.py" />
            <source>Paused. Partial download kept.</source>
            <translation>Angehalten. Bisheriger Download bleibt erhalten.</translation>
        </message>
        <message>
            <location filename="../../app/session/downloads.py" />
            <source>Stopped. Partial download kept.</source>
            <translation>Gestoppt. Bisheriger Download bleibt erhalten.</translation>
        </message>
        <message>
            <location filename="../../app/session/downloads.py" />
            <source>The download process stopped unexpectedly. Click Resume to continue.</source>
            <translation>Der Download-Prozess wurde unerwartet beendet. Klicken Sie auf „Fortsetzen“.</translation>
        </message>
        <message>
            <location filename="../../app/session/downloads.py" />
            <source>Waiting</source>
            <translation>Wartet</translation>
        </message>
        <message>
            <location filename="../../app/session/downloads.py" />
            <source>{done} of {total}</source>
            <translation>{done} von {total}</translation>
        </message>
        <message>
            <location filename="../../app/session/downloads.py" />
            <source>{time} left</source>
            <translation>noch {time}</translation>
        </message>
        <message>
            <location filename="../../app/session/endpoints.py" />
            <source>This is Slipstream's own server, which uses the models loaded here. Enter another address.</source>
            <translation>Das ist der eigene Server von Slipstream, der die hier geladenen Modelle nutzt. Geben Sie eine andere Adresse ein.</translation>
        </message>
        <message>
            <location filename="../../app/session/hub_search.py" />
            <source>DFlash doesn't support the “{family}” family yet, so this model uses plain decoding.</source>
            <translation>DFlash unterstützt die Familie „{family}“ noch nicht, daher dekodiert dieses Modell normal.</translation>
        </message>
        <message>
            <location filename="../../app/session/hub_search.py" />
            <source>Drafters couldn't be looked up.</source>
            <translation>Drafter konnten nicht gesucht werden.</translation>
        </message>
        <message>
            <location filename="../../app/session/hub_search.py" />
            <source>Looking for drafters…</source>
            <translation>Drafter werden gesucht …</translation>
        </message>
        <message>
            <location filename="../../app/session/hub_search.py" />
            <source>No drafter was found in the catalog, on this computer, or on the hub, so this model uses plain decoding.</source>
            <translation>Weder im Katalog noch auf diesem Computer oder im Hub wurde ein Drafter gefunden, daher dekodiert dieses Modell normal.</translation>
        </message>
        <message>
            <location filename="../../app/session/imports.py" />
            <source>Imported the project “{name}”.</source>
            <translation>Projekt „{name}“ importiert.</translation>
        </message>
        <message>
            <location filename="../../app/session/imports.py" />
            <source>Imported {count}.</source>
            <translation>{count} importiert.</translation>
        </message>
        <message>
            <location filename="../../app/session/imports.py" />
            <source>New messages in {chats}.</source>
            <translation>Neue Nachrichten in {chats}.</translation>
        </message>
        <message>
            <location filename="../../app/session/imports.py" />
            <source>Not set up on this computer: {servers}. Add them in Settings ▸ Tools.</source>
            <translation>Auf diesem Computer nicht eingerichtet: {servers}. Fügen Sie sie unter Einstellungen ▸ Werkzeuge hinzu.</translation>
        </message>
        <message>
            <location filename="../../app/session/imports.py" />
            <source>The file names documents, a model, or tools for “{project}”: {listed}.</source>
            <translation>Die Datei nennt Dokumente, ein Modell oder Werkzeuge für „{project}“: {listed}.</translation>
        </message>
        <message>
            <location filename="../../app/session/imports.py" />
            <source>The project “{name}” is already there.</source>
            <translation>Das Projekt „{name}“ ist bereits vorhanden.</translation>
        </message>
        <message>
            <location filename="../../app/session/imports.py" />
            <source>Use Them</source>
            <translation>Verwenden</translation>
        </message>
        <message>
            <location filename="../../app/session/imports.py" />
            <source>{chats} already there.</source>
            <translation>{chats} bereits vorhanden.</translation>
        </message>
        <message>
            <location filename="../../app/session/local_server.py" />
            <source>1 active request</source>
            <translation>1 aktive Anfrage</translation>
        </message>
        <message>
            <location filename="../../app/session/local_server.py" />
            <source>The local server is off. {reason}</source>
            <translation>Der lokale Server ist ausgeschaltet. {reason}</translation>
        </message>
        <message>
            <location filename="../../app/session/local_server.py" />
            <source>{count} active requests</source>
            <translation>{count} aktive Anfragen</translation>
        </message>
        <message>
            <location filename="../../app/session/measurements.py" />
            <source>Finishing</source>
            <translation>Wird abgeschlossen</translation>
        </message>
        <message>
            <location filename="../../app/session/measurements.py" />
            <source>Waiting for the engine</source>
            <translation>Wartet auf die Engine</translation>
        </message>
        <message>
            <location filename="../../app/session/memory_watch.py" />
            <source>Memory is almost full.</source>
            <translation>Der Arbeitsspeicher ist fast aufgebraucht.</translation>
        </message>
        <message>
            <location filename="../../app/session/memory_watch.py" />
            <source>Memory is running low.</source>
            <translation>Der Arbeitsspeicher wird knapp.</translation>
        </message>
        <message>
            <location filename="../../app/session/memory_watch.py" />
            <source>Quit other apps or shorten the chat to keep replies fast.</source>
            <translation>Beenden Sie andere Apps, oder kürzen Sie den Chat, damit Antworten schnell bleiben.</translation>
        </message>
        <message>
            <location filename="../../app/session/memory_watch.py" />
            <source>The last reply used {peak} of the {budget} available to models.</source>
            <translation>Die letzte Antwort hat {peak} der {budget} für Modelle belegt.</translation>
        </message>
        <message>
            <location filename="../../app/session/message_passages.py" />
            <source>Documents</source>
            <translation>Dokumente</translation>
        </message>
        <message>
            <location filename="../../app/session/message_passages.py" />
            <source>The documents can't be searched, so messages get no passages of them.</source>
            <translation>Die Dokumente können nicht durchsucht werden. Nachrichten erhalten daher keine Passagen daraus.</translation>
        </message>
        <message>
            <location filename="../../app/session/model_list.py" />
            <source>About {size}</source>
            <translation>Etwa {size}</translation>
        </message>
        <message>
            <location filename="../../app/session/model_list.py" />
            <source>Access needed</source>
            <translation>Zugriff nötig</translation>
        </message>
        <message>
            <location filename="../../app/session/model_list.py" />
            <source>Can't run</source>
            <translation>Läuft nicht</translation>
        </message>
        <message>
            <location filename="../../app/session/model_list.py" />
            <source>Checking…</source>
            <translation>Wird geprüft …</translation>
        </message>
        <message>
            <location filename="../../app/session/model_list.py" />
            <source>Custom pair.</source>
            <translation>Eigenes Paar.</translation>
        </message>
        <message>
            <location filename="../../app/session/model_list.py" />
            <source>In LM Studio</source>
            <translation>In LM Studio</translation>
        </message>
        <message>
            <location filename="../../app/session/model_list.py" />
            <source>In the Hugging Face cache</source>
            <translation>Im Cache von Hugging Face</translation>
        </message>
        <message>
            <location filename="../../app/session/model_list.py" />
            <source>In your folder</source>
            <translation>In Ihrem Ordner</translation>
        </message>
        <message>
            <location filename="../../app/session/model_list.py" />
            <source>Not checked</source>
            <translation>Nicht geprüft</translation>
        </message>
        <message>
            <location filename="../../app/session/model_list.py" />
            <source>Not on {count} Macs</source>
            <translation>Nicht auf {count} Macs</translation>
        </message>
        <message>
            <location filename="../../app/session/model_list.py" />
            <source>Not supported yet</source>
            <translation>Noch nicht unterstützt</translation>
        </message>
        <message>
            <location filename="../../app/session/model_list.py" />
            <source>Sees images</source>
            <translation>Sieht Bilder</translation>
        </message>
        <message>
            <location filename="../../app/session/model_list.py" />
            <source>Unknown size</source>
            <translation>Größe unbekannt</translation>
        </message>
        <message>
            <location filename="../../app/session/model_list.py" />
            <source>{kind} drafter</source>
            <translation>{kind}-Drafter</translation>
        </message>
        <message>
            <location filename="../../app/session/model_storage.py" />
            <source>Models are being moved. Wait until the move is complete, or stop it in Settings.</source>
            <translation>Modelle werden verschoben. Warten Sie, bis das Verschieben abgeschlossen ist, oder stoppen Sie es in den Einstellungen.</translation>
        </message>
        <message>
            <location filename="../../app/session/model_storage.py" />
            <source>Models moved to {folder}.</source>
            <translation>Modelle nach {folder} verschoben.</translation>
        </message>
        <message>
            <location filename="../../app/session/model_storage.py" />
            <source>Move stopped. Your models weren't moved, and copied files are kept for the next attempt.</source>
            <translation>Verschieben gestoppt. Die Modelle wurden nicht verschoben; bereits kopierte Dateien bleiben für den nächsten Versuch erhalten.</translation>
        </message>
        <message>
            <location filename="../../app/session/model_storage.py" />
            <source>{size} freed.</source>
            <translation>{size} freigegeben.</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>Counting tokens before sending…</source>
            <translation>Vor dem Senden werden die Token gezählt …</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>Remove File</source>
            <translation>Datei entfernen</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>Remove it, or attach part of it.</source>
            <translation>Entfernen Sie sie, oder hängen Sie einen Teil davon an.</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>Send Page 1 Only</source>
            <translation>Nur Seite 1 senden</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>Send Pages 1 to {count}</source>
            <translation>Seiten 1 bis {count} senden</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>Shorten the message.</source>
            <translation>Kürzen Sie die Nachricht.</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>Shorten the system prompt.</source>
            <translation>Kürzen Sie den Systemprompt.</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>Start a new chat, or edit an earlier message.</source>
            <translation>Beginnen Sie einen neuen Chat, oder bearbeiten Sie eine frühere Nachricht.</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The message will be sent when its files have been read.</source>
            <translation>Die Nachricht wird gesendet, sobald ihre Dateien gelesen sind.</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The message will be sent when the chat's PDF pages have been read.</source>
            <translation>Die Nachricht wird gesendet, sobald die PDF-Seiten des Chats gelesen sind.</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The message will be sent when the comparison has ended.</source>
            <translation>Die Nachricht wird gesendet, sobald der Vergleich beendet ist.</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The message will be sent when the documents have been searched.</source>
            <translation>Die Nachricht wird gesendet, sobald die Dokumente durchsucht wurden.</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The message will be sent when the models have loaded.</source>
            <translation>Die Nachricht wird gesendet, sobald die Modelle geladen sind.</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The message will be sent when the reply has ended.</source>
            <translation>Die Nachricht wird gesendet, sobald die Antwort beendet ist.</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The message will be sent when the reply has ended. A tool call needs your approval.</source>
            <translation>Die Nachricht wird gesendet, sobald die Antwort beendet ist. Ein Werkzeugaufruf braucht Ihre Erlaubnis.</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The message will be sent when the summary has been written.</source>
            <translation>Die Nachricht wird gesendet, sobald die Zusammenfassung geschrieben ist.</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The message will be sent when the tools are ready.</source>
            <translation>Die Nachricht wird gesendet, sobald die Werkzeuge bereit sind.</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The reply in “{title}” didn't start. Try again there.</source>
            <translation>Die Antwort in „{title}“ hat nicht begonnen. Versuchen Sie es dort erneut.</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The reply will start when the chat's PDF pages have been read.</source>
            <translation>Die Antwort beginnt, sobald die PDF-Seiten des Chats gelesen sind.</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The reply will start when the comparison has ended.</source>
            <translation>Die Antwort beginnt, sobald der Vergleich beendet ist.</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The reply will start when the models have loaded.</source>
            <translation>Die Antwort beginnt, sobald die Modelle geladen sind.</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The reply will start when the other one has ended.</source>
            <translation>Die Antwort beginnt, sobald die andere beendet ist.</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The reply will start when the summary has been written.</source>
            <translation>Die Antwort beginnt, sobald die Zusammenfassung geschrieben ist.</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The reply will start when the tools are ready.</source>
            <translation>Die Antwort beginnt, sobald die Werkzeuge bereit sind.</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>Turn some tools off.</source>
            <translation>Schalten Sie einige Werkzeuge aus.</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>Your message is no longer waiting to be sent. It is a draft in its chat.</source>
            <translation>Ihre Nachricht wartet nicht mehr auf das Senden. Sie steht als Entwurf in ihrem Chat.</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>Your message wasn't sent, because the model it was for isn't available.</source>
            <translation>Ihre Nachricht wurde nicht gesendet, weil das Modell, für das sie bestimmt war, nicht verfügbar ist.</translation>
        </message>
        <message>
            <location filename="../../app/session/notice.py" />
            <source>Show in Finder</source>
            <translation>Im Finder zeigen</translation>
        </message>
        <message>
            <location filename="../../app/session/notice.py" />
            <source>Show in Folder</source>
            <translation>Im Ordner zeigen</translation>
        </message>
        <message>
            <location filename="../../app/session/other_macs.py" />
            <source>Enter the pairing code that “slipstream worker” shows there.</source>
            <translation>Geben Sie den Kopplungscode ein, den „slipstream worker“ dort anzeigt.</translation>
        </message>
        <message>
            <location filename="../../app/session/other_macs.py" />
            <source>“{address}” isn't an address such as 192.168.1.2 or mac.local:47820.</source>
            <translation>„{address}“ ist keine Adresse wie 192.168.1.2 oder mac.local:47820.</translation>
        </message>
        <message>
            <location filename="../../app/session/outgoing.py" />
            <source>Pages of PDFs are read while their chat is open.</source>
            <translation>PDF-Seiten werden gelesen, während ihr Chat geöffnet ist.</translation>
        </message>
        <message>
            <location filename="../../app/session/outgoing.py" />
            <source>The model it was for isn't available.</source>
            <translation>Das Modell, für das sie bestimmt war, ist nicht verfügbar.</translation>
        </message>
        <message>
            <location filename="../../app/session/outgoing.py" />
            <source>Your message in “{title}” wasn't sent. It is a draft there.</source>
            <translation>Ihre Nachricht in „{title}“ wurde nicht gesendet. Sie steht dort als Entwurf.</translation>
        </message>
        <message>
            <location filename="../../app/session/pair_session.py" />
            <source>Demo pair</source>
            <translation>Demo-Paar</translation>
        </message>
        <message>
            <location filename="../../app/session/pair_session.py" />
            <source>Loading was canceled.</source>
            <translation>Das Laden wurde abgebrochen.</translation>
        </message>
        <message>
            <location filename="../../app/session/pair_session.py" />
            <source>Starting</source>
            <translation>Startet</translation>
        </message>
        <message>
            <location filename="../../app/session/pair_session.py" />
            <source>{name} is still in use.</source>
            <translation>{name} wird weiterhin verwendet.</translation>
        </message>
        <message>
            <location filename="../../app/session/pair_survey.py" />
            <source>A drafter can be downloaded for it.</source>
            <translation>Ein Drafter dafür kann geladen werden.</translation>
        </message>
        <message>
            <location filename="../../app/session/pair_survey.py" />
            <source>A tiny built-in demo for simple arithmetic, lists, and code.</source>
            <translation>Eine kleine integrierte Demo für einfache Rechenaufgaben, Listen und Code.</translation>
        </message>
        <message>
            <location filename="../../app/session/pair_survey.py" />
            <source>Can't estimate memory use: config.json has an unknown format.</source>
            <translation>Speicherbedarf nicht abschätzbar: config.json hat ein unbekanntes Format.</translation>
        </message>
        <message>
            <location filename="../../app/session/pair_survey.py" />
            <source>In LM Studio's models folder.</source>
            <translation>Im Modellordner von LM Studio.</translation>
        </message>
        <message>
            <location filename="../../app/session/pair_survey.py" />
            <source>In one of your model folders.</source>
            <translation>In einem Ihrer Modellordner.</translation>
        </message>
        <message>
            <location filename="../../app/session/pair_survey.py" />
            <source>In the Hugging Face cache.</source>
            <translation>Im Cache von Hugging Face.</translation>
        </message>
        <message>
            <location filename="../../app/session/pair_survey.py" />
            <source>In the hub cache.</source>
            <translation>Im Hub-Cache.</translation>
        </message>
        <message>
            <location filename="../../app/session/pair_survey.py" />
            <source>No drafter found for this model, so it uses plain decoding.</source>
            <translation>Kein Drafter für dieses Modell gefunden, daher wird normal dekodiert.</translation>
        </message>
        <message>
            <location filename="../../app/session/pair_survey.py" />
            <source>{bits}-bit</source>
            <translation>{bits} Bit</translation>
        </message>
        <message>
            <location filename="../../app/session/picker.py" />
            <source>Drafter of {name}</source>
            <translation>Drafter von {name}</translation>
        </message>
        <message>
            <location filename="../../app/session/picker.py" />
            <source>Wait until the pair is loaded before you move models.</source>
            <translation>Warten Sie, bis das Paar geladen ist, bevor Sie Modelle verschieben.</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>A step ends when the model calls tools and gets their results. In the last step, the model answers without tools.</source>
            <translation>Ein Schritt endet, wenn das Modell Werkzeuge aufruft und deren Ergebnisse erhält. Im letzten Schritt antwortet das Modell ohne Werkzeuge.</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Appearance</source>
            <translation>Erscheinungsbild</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Automatic</source>
            <translation>Automatisch</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Automatic: 10 GB or 10% of the free space, whichever is less.</source>
            <translation>Automatisch: 10 GB oder ein Zehntel des freien Speicherplatzes, falls das weniger ist.</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Check for updates at launch</source>
            <translation>Beim Start nach Updates suchen</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Contrast</source>
            <translation>Kontrast</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Dark</source>
            <translation>Dunkel</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Generate chat titles</source>
            <translation>Chattitel erzeugen</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>High</source>
            <translation>Hoch</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Its menu opens Quick Chat, chats, and the window.</source>
            <translation>Das Menü öffnet den Schnellchat, Chats und das Fenster.</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Language</source>
            <translation>Sprache</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Light</source>
            <translation>Hell</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Load models on request</source>
            <translation>Auf Anfrage laden</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Off</source>
            <translation>Aus</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Offline</source>
            <translation>Offline</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Opens a small window over any app.</source>
            <translation>Öffnet ein kleines Fenster über jeder App.</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Other programs on this computer can then use the loaded model.</source>
            <translation>Andere Programme auf diesem Computer können dann das geladene Modell nutzen.</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Port</source>
            <translation>Port</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Programs can ask the server for another downloaded model, which replaces the loaded one.</source>
            <translation>Programme können vom Server ein anderes heruntergeladenes Modell anfordern, das das geladene ersetzt.</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Quiet mode</source>
            <translation>Leiser Modus</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Record token probabilities</source>
            <translation>Wahrscheinlichkeiten der Token aufzeichnen</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Reduce motion</source>
            <translation>Bewegung reduzieren</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Replies in earlier chats and to coding agents start sooner. Deleting a chat also deletes its saved prompts. Turning this off deletes all saved prompts.</source>
            <translation>Antworten in früheren Chats und für Coding-Agenten beginnen früher. Mit einem Chat werden auch seine gesicherten Prompts gelöscht. Beim Ausschalten werden alle gesicherten Prompts gelöscht.</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Requests the newest version number and sends nothing else.</source>
            <translation>Fragt nur nach der neuesten Versionsnummer und sendet sonst nichts.</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Rests half of the time: replies take about twice as long, with the same text. Chat titles and measurements wait, and a running tuning is paused.</source>
            <translation>Pausiert die Hälfte der Zeit: Antworten dauern etwa doppelt so lange, mit demselben Text. Chattitel und Messungen warten, und eine laufende Anpassung pausiert.</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Save prompts on disk</source>
            <translation>Prompts auf der Festplatte sichern</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Shortcut for Quick Chat</source>
            <translation>Kurzbefehl für den Schnellchat</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Show an icon in the menu bar</source>
            <translation>Symbol in der Menüleiste anzeigen</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Show token sources</source>
            <translation>Token-Herkunft anzeigen</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Slipstream connects to no other computer. Transfers end immediately; downloads can be resumed. Programs that you add as tools, coding agents, and your browser aren't covered.</source>
            <translation>Slipstream verbindet sich mit keinem anderen Computer. Laufendes endet sofort; Downloads lassen sich fortsetzen. Programme, die Sie als Werkzeuge hinzufügen, Coding-Agenten und Ihr Browser sind nicht betroffen.</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Space for saved prompts</source>
            <translation>Platz für gesicherte Prompts</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Standard</source>
            <translation>Standard</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Start Quick Chat with the selected text</source>
            <translation>Schnellchat mit dem ausgewählten Text beginnen</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Start the server at launch</source>
            <translation>Server mit App starten</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Steps per reply</source>
            <translation>Schritte pro Antwort</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Summarize older messages when the context is nearly full</source>
            <translation>Ältere Nachrichten zusammenfassen, wenn der Kontext fast voll ist</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>System</source>
            <translation>System</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Takes effect after you restart Slipstream.</source>
            <translation>Wird nach einem Neustart von Slipstream wirksam.</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Text size</source>
            <translation>Textgröße</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>The details of a reply then show how likely each token was, and which others were. They are kept until you open another chat. Only with models on this computer.</source>
            <translation>Die Details einer Antwort zeigen dann, wie wahrscheinlich jedes Token und welche anderen wahrscheinlich waren. Sie bleiben, bis Sie einen anderen Chat öffnen. Nur mit Modellen auf diesem Computer.</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>The loaded model writes a title after the first reply, except with the demo pair.</source>
            <translation>Das geladene Modell schreibt nach der ersten Antwort einen Titel, außer beim Demo-Paar.</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>They stay in the chat, and you can undo it. Not with the demo pair.</source>
            <translation>Sie bleiben im Chat, und Sie können es widerrufen. Nicht mit dem Demo-Paar.</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Turn on quiet mode on battery</source>
            <translation>Leiser Modus im Batteriebetrieb</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Turns off again when this computer is connected to power.</source>
            <translation>Endet, sobald dieser Computer mit dem Stromnetz verbunden ist.</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Turns off animations.</source>
            <translation>Schaltet Animationen aus.</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Underlines drafted, copied, and target tokens in different styles.</source>
            <translation>Unterstreicht in Antworten entworfene, kopierte und vom Zielmodell stammende Token verschieden.</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>macOS asks you for the Accessibility permission.</source>
            <translation>macOS fragt nach der Berechtigung „Bedienungshilfen“.</translation>
        </message>
        <message>
            <location filename="../../app/session/projects.py" />
            <source>The Documents tool no longer searches the documents of “{project}”.</source>
            <translation>Das Werkzeug „Dokumente“ durchsucht die Dokumente von „{project}“ nicht mehr.</translation>
        </message>
        <message>
            <location filename="../../app/session/projects.py" />
            <source>The Documents tool now searches the documents of “{project}”.</source>
            <translation>Das Werkzeug „Dokumente“ durchsucht jetzt die Dokumente von „{project}“.</translation>
        </message>
        <message>
            <location filename="../../app/session/projects.py" />
            <source>The {count} chats keep their settings.</source>
            <translation>Die {count} Chats behalten ihre Einstellungen.</translation>
        </message>
        <message>
            <location filename="../../app/session/projects.py" />
            <source>Use the Project's Settings</source>
            <translation>Projekteinstellungen verwenden</translation>
        </message>
        <message>
            <location filename="../../app/session/projects.py" />
            <source>“{model}” isn't on this computer. Choose another model in Project Settings.</source>
            <translation>„{model}“ ist nicht auf diesem Computer. Wählen Sie in den Projekteinstellungen ein anderes Modell.</translation>
        </message>
        <message>
            <location filename="../../app/session/projects.py" />
            <source>“{title}” keeps its settings.</source>
            <translation>„{title}“ behält seine Einstellungen.</translation>
        </message>
        <message>
            <location filename="../../app/session/quick_chat.py" />
            <source>Quick Chat</source>
            <translation>Schnellchat</translation>
        </message>
        <message>
            <location filename="../../app/session/recommendation.py" />
            <source>Fits comfortably</source>
            <translation>Passt bequem</translation>
        </message>
        <message>
            <location filename="../../app/session/recommendation.py" />
            <source>Fits, but too slow</source>
            <translation>Passt, aber zu langsam</translation>
        </message>
        <message>
            <location filename="../../app/session/recommendation.py" />
            <source>Gains the most from DFlash. Fewer bits usually give more tokens per second.</source>
            <translation>Gewinnt am meisten durch DFlash. Weniger Bit ergeben meist mehr Token pro Sekunde.</translation>
        </message>
        <message>
            <location filename="../../app/session/recommendation.py" />
            <source>Memory use unknown</source>
            <translation>Speicherbedarf unbekannt</translation>
        </message>
        <message>
            <location filename="../../app/session/recommendation.py" />
            <source>Tight fit</source>
            <translation>Passt knapp</translation>
        </message>
        <message>
            <location filename="../../app/session/recommendation.py" />
            <source>Too large</source>
            <translation>Zu groß</translation>
        </message>
        <message>
            <location filename="../../app/session/recommendation.py" />
            <source>Usually gives the most tokens per second. DFlash helps more with 8 bits.</source>
            <translation>Ergibt in der Regel die meisten Token pro Sekunde. Mit mehr Bit bringt DFlash mehr.</translation>
        </message>
        <message>
            <location filename="../../app/session/reply_run.py" />
            <source>The reply ended unexpectedly. Try again.</source>
            <translation>Die Antwort wurde unerwartet beendet. Versuchen Sie es erneut.</translation>
        </message>
        <message>
            <location filename="../../app/session/send_consent.py" />
            <source>Cancel</source>
            <translation>Abbrechen</translation>
        </message>
        <message>
            <location filename="../../app/session/send_consent.py" />
            <source>Send</source>
            <translation>Senden</translation>
        </message>
        <message>
            <location filename="../../app/session/send_consent.py" />
            <source>Send its earlier messages to {host} (not encrypted)?</source>
            <translation>Seine früheren Nachrichten an {host} senden (nicht verschlüsselt)?</translation>
        </message>
        <message>
            <location filename="../../app/session/send_consent.py" />
            <source>Send its earlier messages to {host}?</source>
            <translation>Seine früheren Nachrichten an {host} senden?</translation>
        </message>
        <message>
            <location filename="../../app/session/send_consent.py" />
            <source>This chat hasn't been sent to {host} yet.</source>
            <translation>Dieser Chat wurde noch nicht an {host} gesendet.</translation>
        </message>
        <message>
            <location filename="../../app/session/send_consent.py" />
            <source>This chat is new to the server.</source>
            <translation>Dieser Chat ist für den Server neu.</translation>
        </message>
        <message>
            <location filename="../../app/session/send_consent.py" />
            <source>This chat was written on this computer.</source>
            <translation>Dieser Chat wurde auf diesem Computer geschrieben.</translation>
        </message>
        <message>
            <location filename="../../app/session/server_agents.py" />
            <source>{agent} isn't installed. To install it, run this command: {how}</source>
            <translation>{agent} ist nicht installiert. Installieren Sie es mit diesem Befehl und starten Sie es dann erneut: {how}</translation>
        </message>
        <message>
            <location filename="../../app/session/services.py" />
            <source>Can't save your settings. Check that the disk isn't full and that {folder} is writable.</source>
            <translation>Ihre Einstellungen können nicht gesichert werden. Prüfen Sie, ob das Volume voll ist und ob in {folder} geschrieben werden kann.</translation>
        </message>
        <message>
            <location filename="../../app/session/services.py" />
            <source>Can't use mcp.json. {reason}</source>
            <translation>mcp.json kann nicht verwendet werden. {reason}</translation>
        </message>
        <message>
            <location filename="../../app/session/services.py" />
            <source>Can't write to your home folder. Settings are stored in {folder} for now.</source>
            <translation>In Ihren Benutzerordner kann nicht geschrieben werden. Die Einstellungen liegen vorerst in {folder}.</translation>
        </message>
        <message>
            <location filename="../../app/session/services.py" />
            <source>The comparison will start when replies to other programs finish.</source>
            <translation>Der Vergleich beginnt, sobald die Antworten an andere Programme fertig sind.</translation>
        </message>
        <message>
            <location filename="../../app/session/services.py" />
            <source>Your settings are being saved again.</source>
            <translation>Ihre Einstellungen werden wieder gesichert.</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_run.py" />
            <source>Can't start tuning. If you moved or replaced Slipstream, restart it.</source>
            <translation>Die Anpassung lässt sich nicht starten. Wenn Sie Slipstream verschoben oder ersetzt haben, starten Sie es neu.</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_run.py" />
            <source>Tuning stopped unexpectedly. Details are in {log_file}. You can continue it.</source>
            <translation>Die Anpassung wurde unerwartet beendet. Einzelheiten stehen in {log_file}. Sie können sie fortsetzen.</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_run.py" />
            <source>Tuning stopped unexpectedly. You can continue it.</source>
            <translation>Die Anpassung wurde unerwartet beendet. Sie können sie fortsetzen.</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_run.py" />
            <source>Tuning was paused, because memory is almost full. Quit other apps, then continue.</source>
            <translation>Die Anpassung wurde angehalten, weil der Arbeitsspeicher fast voll ist. Beenden Sie andere Apps, und fahren Sie dann fort.</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_run.py" />
            <source>Tuning was paused, because quiet mode is on. Continue it when you like.</source>
            <translation>Die Anpassung wurde angehalten, weil der leise Modus an ist. Sie können sie jederzeit fortsetzen.</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_survey.py" />
            <source>A server is in use, and its drafter can't be tuned from here. To tune one, load a model on this computer.</source>
            <translation>Ein Server wird verwendet, dessen Drafter sich von hier aus nicht anpassen lässt. Laden Sie dazu ein Modell auf diesem Computer.</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_survey.py" />
            <source>All saved messages are from one chat. Start another chat, then try again.</source>
            <translation>Alle gesicherten Nachrichten stammen aus einem Chat. Beginnen Sie einen weiteren Chat, und versuchen Sie es dann erneut.</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_survey.py" />
            <source>Can't read the saved chats. Restart Slipstream, then try again.</source>
            <translation>Die gesicherten Chats können nicht gelesen werden. Starten Sie Slipstream neu, und versuchen Sie es dann erneut.</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_survey.py" />
            <source>Chats aren't saved, so tuning has no messages to use.</source>
            <translation>Chats werden nicht gesichert, daher gibt es keine Nachrichten zum Anpassen.</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_survey.py" />
            <source>Load a pair to tune its drafter.</source>
            <translation>Laden Sie ein Paar, um dessen Drafter anzupassen.</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_survey.py" />
            <source>Only DFlash and DFlash 2 drafters can be tuned. This one is of the kind {kind}.</source>
            <translation>Nur DFlash- und DFlash-2-Drafter lassen sich anpassen. Dieser ist von der Art {kind}.</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_survey.py" />
            <source>The demo pair is part of Slipstream, so its drafter can't be changed. Load another pair, or copy the demo pair's folder and add the copy in Models.</source>
            <translation>Das Demo-Paar gehört zu Slipstream, daher lässt sich sein Drafter nicht ändern. Laden Sie ein anderes Paar, oder kopieren Sie den Ordner des Demo-Paars und fügen Sie die Kopie unter „Modelle“ hinzu.</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_survey.py" />
            <source>The drafter's folder can't be changed. Copy the pair to another folder, then add it in Models.</source>
            <translation>Der Ordner des Drafters lässt sich nicht ändern. Kopieren Sie das Paar in einen anderen Ordner, und fügen Sie es dann unter „Modelle“ hinzu.</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_survey.py" />
            <source>This pair has no drafter to tune. Choose a pair with a DFlash drafter.</source>
            <translation>Dieses Paar hat keinen Drafter, der sich anpassen lässt. Wählen Sie ein Paar mit einem DFlash-Drafter.</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_survey.py" />
            <source>This pair runs on several Macs. To tune its drafter, turn off the other Macs in Models, and load it again.</source>
            <translation>Dieses Paar läuft auf mehreren Macs. Um seinen Drafter anzupassen, schalten Sie unter „Modelle“ die anderen Macs aus und laden Sie es erneut.</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_survey.py" />
            <source>Tuning needs about {needed} of memory, but only {free} is free. Quit other apps, then try again.</source>
            <translation>Die Anpassung benötigt etwa {needed} Arbeitsspeicher, aber nur {free} sind frei. Beenden Sie andere Apps, und versuchen Sie es dann erneut.</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_survey.py" />
            <source>Tuning needs at least {fewest} different messages in saved chats, but there are only {count}. Chat some more first.</source>
            <translation>Zum Anpassen sind mindestens {fewest} verschiedene Nachrichten in gesicherten Chats nötig, es gibt aber nur {count}. Führen Sie zuerst weitere Chats.</translation>
        </message>
        <message>
            <location filename="../../app/session/updates.py" />
            <source>Can't check for updates: unexpected response from the server.</source>
            <translation>Nach Updates kann nicht gesucht werden: unerwartete Antwort des Servers.</translation>
        </message>
        <message>
            <location filename="../../app/session/updates.py" />
            <source>For this Mac, download {name}.</source>
            <translation>Laden Sie für diesen Mac {name}.</translation>
        </message>
        <message>
            <location filename="../../app/session/updates.py" />
            <source>Slipstream {version} is available. You have {current}. {page}</source>
            <translation>Slipstream {version} ist verfügbar. Sie haben {current}. {page}</translation>
        </message>
        <message>
            <location filename="../../app/session/updates.py" />
            <source>Slipstream {version} is the newest version.</source>
            <translation>Slipstream {version} ist die neueste Version.</translation>
        </message>
        <message>
            <location filename="../../app/session/updates.py" />
            <source>This copy of Slipstream was built for macOS 14. On this Mac, the one for macOS 26 is faster.</source>
            <translation>Dieses Slipstream wurde für macOS 14 gebaut. Auf diesem Mac ist das für macOS 26 schneller.</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_export.py" />
            <source>Exported the project “{name}” to {to}.</source>
            <translation>Projekt „{name}“ nach {to} exportiert.</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_export.py" />
            <source>Exported {chats} to {to}.</source>
            <translation>Nach {to} exportiert: {chats}.</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_export.py" />
            <source>The model reads this summary in place of the messages above:</source>
            <translation>Das Modell liest diese Zusammenfassung anstelle der vorangehenden Nachrichten:</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>Messages in “{name}” that can't be read: {count}.</source>
            <translation>Nachrichten in „{name}“, die nicht lesbar sind: {count}.</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>More files that can't be read: {count}.</source>
            <translation>Weitere Dateien, die nicht lesbar sind: {count}.</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>Skipped a file: {reason}</source>
            <translation>Eine Datei wurde übersprungen: {reason}</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>Skipped {chats} without readable messages.</source>
            <translation>Ausgelassen: {chats} ohne lesbare Nachrichten.</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>All texts are identical, token for token.</source>
            <translation>Alle Texte sind Token für Token identisch.</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>Both are equally fast</source>
            <translation>Beide sind gleich schnell</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>Both replied at the same time</source>
            <translation>Beide haben gleichzeitig geantwortet</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>Both replied in turns</source>
            <translation>Beide haben abwechselnd geantwortet</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>Both replies are identical, token for token ({tokens}).</source>
            <translation>Beide Antworten sind Token für Token identisch ({tokens}).</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>Both replies are identical, token for token ({tokens}, exact mode).</source>
            <translation>Beide Antworten sind Token für Token gleich ({tokens}), im exakten Modus.</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>Both replies have the same text ({tokens}).</source>
            <translation>Beide Antworten haben denselben Text ({tokens}).</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>DFlash is slower here: {ratio}× the plain speed</source>
            <translation>DFlash ist hier langsamer: das {ratio}-Fache der normalen Geschwindigkeit</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>DFlash is {ratio}× as fast</source>
            <translation>DFlash ist {ratio}-mal so schnell</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>Failed</source>
            <translation>Fehlgeschlagen</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>Lookup</source>
            <translation>Nachschlagen</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>Plain decoding is the fastest here</source>
            <translation>Normales Dekodieren ist hier am schnellsten</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>Prompts left out: {count}. {reason}</source>
            <translation>Ausgelassene Prompts: {count}. {reason}</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>Some texts differ by more than rounding error.</source>
            <translation>Einige Texte unterscheiden sich um mehr als den Rundungsfehler.</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>Some texts differ where two tokens are tied within rounding error.</source>
            <translation>Einige Texte unterscheiden sich, wo zwei Token innerhalb des Rundungsfehlers gleichauf liegen.</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>Speed is tokens per second after the first token.</source>
            <translation>Die Geschwindigkeit ist in Token pro Sekunde nach dem ersten Token angegeben.</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>The replies differ starting at character {character}.</source>
            <translation>Die Antworten unterscheiden sich ab Zeichen {character}.</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>The replies differ starting at token {token}, by more than rounding error.</source>
            <translation>Die Antworten unterscheiden sich ab Token {token}. Das ist kein Gleichstand durch Rundung.</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>The replies differ starting at token {token}, where two tokens are tied within rounding error.</source>
            <translation>Die Antworten unterscheiden sich ab Token {token}. Das ist ein Gleichstand im Rahmen der Rundung.</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>The replies differ starting at token {token}.</source>
            <translation>Die Antworten unterscheiden sich ab Token {token}.</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>The replies took turns instead of being computed together. Their speeds can't be compared.</source>
            <translation>Die Antworten wechselten sich ab, statt zusammen berechnet zu werden. Ihre Geschwindigkeiten lassen sich nicht vergleichen.</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>The replies were computed together, so their speeds can't be compared.</source>
            <translation>Die Antworten wurden zusammen berechnet, daher lassen sich ihre Geschwindigkeiten nicht vergleichen.</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>The reply is too short to measure speed</source>
            <translation>Die Antwort ist zu kurz, um die Geschwindigkeit zu messen</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>The scores of the two tokens differ by {margin}.</source>
            <translation>Die Werte der beiden Token unterscheiden sich um {margin}.</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>different</source>
            <translation>verschieden</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>differs at token {token}</source>
            <translation>anders ab {token}</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>identical</source>
            <translation>identisch</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>tie</source>
            <translation>Gleichstand</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>tie at token {token}</source>
            <translation>Gleichstand bei {token}</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>{identical} of {count} identical</source>
            <translation>{identical} von {count} identisch</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>{name} is the fastest here: {ratio}× the plain speed</source>
            <translation>{name} ist hier am schnellsten: das {ratio}-Fache der normalen Geschwindigkeit</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>{name} is {ratio}× as fast</source>
            <translation>{name} ist {ratio}-mal so schnell</translation>
        </message>
        <message>
            <location filename="../../app/storage/database.py" />
            <source>Can't open your chats in {file} ({error}), so new chats won't be saved.</source>
            <translation>Ihre Chats in {file} können nicht geöffnet werden ({error}), daher werden neue Chats nicht gesichert.</translation>
        </message>
        <message>
            <location filename="../../app/storage/database.py" />
            <source>Not recovered: {chats}.</source>
            <translation>Nicht wiederhergestellt: {chats}.</translation>
        </message>
        <message>
            <location filename="../../app/storage/database.py" />
            <source>Nothing could be recovered.</source>
            <translation>Es konnte nichts wiederhergestellt werden.</translation>
        </message>
        <message>
            <location filename="../../app/storage/database.py" />
            <source>Recovered {chats} and moved the old file to {aside}.</source>
            <translation>{chats} wiederhergestellt und die alte Datei nach {aside} bewegt.</translation>
        </message>
        <message>
            <location filename="../../app/storage/database.py" />
            <source>Slipstream can't write to {folder}, so new chats won't be saved.</source>
            <translation>Slipstream kann nicht in {folder} schreiben, daher werden neue Chats nicht gesichert.</translation>
        </message>
        <message>
            <location filename="../../app/storage/database.py" />
            <source>Some chats or messages may be missing.</source>
            <translation>Einige Chats oder Nachrichten fehlen möglicherweise.</translation>
        </message>
        <message>
            <location filename="../../app/storage/database.py" />
            <source>The chat file isn't a Slipstream database.</source>
            <translation>Die Chat-Datei ist keine Slipstream-Datenbank.</translation>
        </message>
        <message>
            <location filename="../../app/storage/database.py" />
            <source>The old file was moved to {aside}.</source>
            <translation>Die alte Datei wurde nach {aside} bewegt.</translation>
        </message>
        <message>
            <location filename="../../app/storage/database.py" />
            <source>Your chat database is damaged.</source>
            <translation>Ihre Chat-Datenbank ist beschädigt.</translation>
        </message>
        <message>
            <location filename="../../app/storage/database.py" />
            <source>Your chats were saved by a newer version of Slipstream. Update Slipstream, then import the chats.</source>
            <translation>Ihre Chats wurden von einer neueren Version von Slipstream gesichert. Aktualisieren Sie Slipstream, und importieren Sie dann die Chats.</translation>
        </message>
        <message>
            <location filename="../../app/storage/salvage.py" />
            <source>The file is damaged, and {chats} couldn't be recovered.</source>
            <translation>Die Datei ist beschädigt. Nicht wiederherstellbar: {chats}.</translation>
        </message>
        <message>
            <location filename="../../app/storage/salvage.py" />
            <source>The file is damaged, so some messages may be missing.</source>
            <translation>Die Datei ist beschädigt, daher können Nachrichten fehlen.</translation>
        </message>
        <message>
            <location filename="../../app/storage/settings.py" />
            <source>Balanced</source>
            <translation>Ausgewogen</translation>
        </message>
        <message>
            <location filename="../../app/storage/settings.py" />
            <source>Creative</source>
            <translation>Kreativ</translation>
        </message>
        <message>
            <location filename="../../app/storage/settings.py" />
            <source>Model defaults</source>
            <translation>Vorgaben des Modells</translation>
        </message>
        <message>
            <location filename="../../app/storage/settings.py" />
            <source>Precise</source>
            <translation>Genau</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Almost no drafts were accepted, probably because {cause}.</source>
            <translation>Fast keine Entwürfe wurden angenommen. Wahrscheinlicher Grund: {cause}.</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Compare all drafters of this model to find a better one.</source>
            <translation>Vergleichen Sie alle Drafter dieses Modells, um einen besseren zu finden.</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Connect it to power for full speed.</source>
            <translation>Verbinden Sie ihn für volle Geschwindigkeit mit dem Stromnetz.</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Later replies in this chat start sooner.</source>
            <translation>Spätere Antworten in diesem Chat beginnen früher.</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Let it cool, for example with Chat ▸ Quiet Mode.</source>
            <translation>Lassen Sie ihn abkühlen, zum Beispiel mit „Chat“ ▸ „Leiser Modus“.</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Low Power Mode</source>
            <translation>Stromsparmodus</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Low Power Mode was on.</source>
            <translation>Der Stromsparmodus war an.</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Other programs needed memory during this reply.</source>
            <translation>Andere Programme brauchten während dieser Antwort Arbeitsspeicher.</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Other replies were generated at the same time.</source>
            <translation>Gleichzeitig wurden andere Antworten erzeugt.</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Quiet mode was on: this computer rested for {rest} of {time}.</source>
            <translation>Der leise Modus war an: Dieser Computer pausierte {rest} von {time}.</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Quit other apps, or choose a smaller model.</source>
            <translation>Beenden Sie andere Apps, oder wählen Sie ein kleineres Modell.</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Reading {tokens} new prompt tokens took {seconds}.</source>
            <translation>{tokens} neue Prompt-Token zu lesen, dauerte {seconds}.</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Replies usually reach {rate}.</source>
            <translation>Antworten erreichen üblicherweise {rate}.</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Reply {number}: {rate}. {cause}</source>
            <translation>Antwort {number}: {rate}. {cause}</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Slow start: new prompt</source>
            <translation>Später Beginn: neuer Prompt</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Slower: Low Power Mode</source>
            <translation>Langsamer: Stromsparmodus</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Slower: few drafts accepted</source>
            <translation>Langsamer: wenige Entwürfe angenommen</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Slower: heat</source>
            <translation>Langsamer: Hitze</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Slower: low memory</source>
            <translation>Langsamer: wenig Arbeitsspeicher</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Slower: on battery</source>
            <translation>Langsamer: Batteriebetrieb</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Slower: other replies</source>
            <translation>Langsamer: andere Antworten</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Slower: quiet mode</source>
            <translation>Langsamer: leiser Modus</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Stop other replies to have one sooner.</source>
            <translation>Stoppen Sie andere Antworten, um eine früher zu erhalten.</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>The drafter predicted this text less well than usual.</source>
            <translation>Der Drafter hat diesen Text schlechter vorhergesagt als üblich.</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>This computer ran on its battery, at {charge}.</source>
            <translation>Dieser Computer lief im Batteriebetrieb, bei {charge}.</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>This computer ran on its battery.</source>
            <translation>Dieser Computer lief im Batteriebetrieb.</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>This computer was hot, and slowed down.</source>
            <translation>Dieser Computer war heiß und wurde langsamer.</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>This reply waited {seconds} for others.</source>
            <translation>Diese Antwort wartete {seconds} auf andere.</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Turn it off in your system's settings for full speed.</source>
            <translation>Schalten Sie ihn für volle Geschwindigkeit in den Systemeinstellungen aus.</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>You can turn it off with Chat ▸ Quiet Mode.</source>
            <translation>Sie können ihn mit „Chat“ ▸ „Leiser Modus“ ausschalten.</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>hot</source>
            <translation>heiß</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>low memory</source>
            <translation>wenig Arbeitsspeicher</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>on battery</source>
            <translation>im Batteriebetrieb</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>on battery ({charge})</source>
            <translation>im Batteriebetrieb ({charge})</translation>
        </message>
        <message>
            <location filename="../../app/storage/store_thread.py" />
            <source>Can't open your chats ({error}). New chats won't be saved.</source>
            <translation>Ihre Chats können nicht geöffnet werden ({error}). Neue Chats werden nicht gesichert.</translation>
        </message>
        <message>
            <location filename="../../app/storage/store_thread.py" />
            <source>Can't read your chats: {error}.</source>
            <translation>Ihre Chats können nicht gelesen werden: {error}.</translation>
        </message>
        <message>
            <location filename="../../app/storage/store_thread.py" />
            <source>Can't save your chats: {error}. Slipstream will keep trying.</source>
            <translation>Ihre Chats können nicht gesichert werden: {error}. Slipstream versucht es weiter.</translation>
        </message>
        <message>
            <location filename="../../app/storage/store_thread.py" />
            <source>Your chat database is damaged ({error}). Export what you need, then restart Slipstream.</source>
            <translation>Ihre Chat-Datenbank ist beschädigt ({error}). Exportieren Sie, was Sie brauchen, und starten Sie Slipstream dann neu.</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>1 byte</source>
            <translation>1 Byte</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>1 chat</source>
            <translation>1 Chat</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>1 token</source>
            <translation>1 Token</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>1 word</source>
            <translation>1 Wort</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Accepted</source>
            <translation>Angenommen</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Almost no drafts were accepted, probably because {cause}</source>
            <translation>Fast keine Entwürfe wurden angenommen. Wahrscheinlicher Grund: {cause}</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Calculator</source>
            <translation>Rechner</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Checked per round</source>
            <translation>Geprüft pro Runde</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>DFlash isn't available: {why}</source>
            <translation>DFlash ist nicht verfügbar: {why}</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>DFlash off</source>
            <translation>DFlash aus</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Drafted</source>
            <translation>Entworfen</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Drafter</source>
            <translation>Drafter</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>End</source>
            <translation>Ende</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Exact mode</source>
            <translation>Exakter Modus</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>First token</source>
            <translation>Erstes Token</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>GPU error</source>
            <translation>GPU-Fehler</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Length</source>
            <translation>Länge</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Measured</source>
            <translation>Gemessen</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Mode</source>
            <translation>Modus</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Mostly plain</source>
            <translation>Meist normal</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>No drafter</source>
            <translation>Kein Drafter</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Not answered</source>
            <translation>Nicht beantwortet</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Not read: {names}.</source>
            <translation>Nicht gelesen: {names}.</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Note</source>
            <translation>Hinweis</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Peak memory</source>
            <translation>Höchster Speicherbedarf</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Plain</source>
            <translation>Normal</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Plain steps</source>
            <translation>Normale Schritte</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Prompt</source>
            <translation>Prompt</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Prompt processing</source>
            <translation>Prompt-Verarbeitung</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Rounds</source>
            <translation>Runden</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Seed</source>
            <translation>Seed</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Speed</source>
            <translation>Geschwindigkeit</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Step {number}</source>
            <translation>Schritt {number}</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>The server doesn't report its speed, so Slipstream measured how fast text arrived.</source>
            <translation>Der Server meldet seine Geschwindigkeit nicht. Slipstream hat gemessen, wie schnell der Text ankam.</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Thinking…</source>
            <translation>Denkt nach …</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>This model can't see images.</source>
            <translation>Dieses Modell kann keine Bilder sehen.</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>This model is loaded without a drafter.</source>
            <translation>Dieses Modell ist ohne Drafter geladen.</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Thought for {seconds}</source>
            <translation>{seconds} nachgedacht</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Thoughts</source>
            <translation>Gedanken</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Wait time</source>
            <translation>Wartezeit</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>about {tokens}</source>
            <translation>etwa {tokens}</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>after {seconds}</source>
            <translation>nach {seconds}</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>an image from a tool</source>
            <translation>ein Bild von einem Werkzeug</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>another program is using the file</source>
            <translation>ein anderes Programm benutzt die Datei</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>by the server</source>
            <translation>vom Server</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>context full</source>
            <translation>Kontext voll</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>ended with a tool call</source>
            <translation>endete mit einem Werkzeugaufruf</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>ended with an error</source>
            <translation>endete mit einem Fehler</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>first token after {ttft_s}</source>
            <translation>erstes Token nach {ttft_s}</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>interrupted: Slipstream quit before the reply was complete</source>
            <translation>unterbrochen: Slipstream wurde vor Ende der Antwort beendet</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>reached a stop sequence</source>
            <translation>Stoppsequenz erreicht</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>reached the limit of {max_tokens} tokens</source>
            <translation>Grenze von {max_tokens} Token erreicht</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>reading prompt: {done} of {total} tokens</source>
            <translation>Prompt wird gelesen: {done} von {total} Token</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>same text with or without DFlash</source>
            <translation>Der Text ist ohne DFlash derselbe</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>stopped</source>
            <translation>gestoppt</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>the disk is full</source>
            <translation>das Volume ist voll</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>the disk reports an error</source>
            <translation>das Volume meldet einen Fehler</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>the file can't be opened</source>
            <translation>die Datei lässt sich nicht öffnen</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>the file or its folder is read-only</source>
            <translation>die Datei oder ihr Ordner ist schreibgeschützt</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{accepted} ({share})</source>
            <translation>{accepted} ({share})</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{accepted} ({share}), {unused} of them past the end of the reply</source>
            <translation>{accepted} ({share}), davon {unused} nach dem Ende der Antwort</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{accepted} of {tested} accepted</source>
            <translation>{accepted} von {tested} angenommen</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{count} bytes</source>
            <translation>{count} Byte</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{count} chats</source>
            <translation>{count} Chats</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{count} more</source>
            <translation>{count} weitere</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{count} tokens</source>
            <translation>{count} Token</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{count} tokens/round</source>
            <translation>{count} Token/Runde</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{count} words</source>
            <translation>{count} Wörter</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{count}%</source>
            <translation>{count} %</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{count}, {tokens}, read in {seconds}</source>
            <translation>{count}, {tokens}, in {seconds} gelesen</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{name} (lost)</source>
            <translation>{name} (verloren)</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{name} (page {page})</source>
            <translation>{name} (Seite {page})</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{name} (pages {pages})</source>
            <translation>{name} (Seiten {pages})</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{name}, tuned</source>
            <translation>{name}, angepasst</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{name}: {value}</source>
            <translation>{name}: {value}</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{prompt_tokens} tokens, {reused_tokens} reused</source>
            <translation>{prompt_tokens} Token, {reused_tokens} wiederverwendet</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{rate} (measured here)</source>
            <translation>{rate} (hier gemessen)</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{rate} tok/s</source>
            <translation>{rate} Token/s</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{reused} of {total} prompt tokens reused</source>
            <translation>{reused} von {total} Prompt-Token wiederverwendet</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{reused} of {total} tokens from the disk cache</source>
            <translation>{reused} von {total} Token aus dem Cache (Festplatte)</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{share} accepted</source>
            <translation>{share} angenommen</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{steps} plain steps: {why}</source>
            <translation>{steps} ohne Entwürfe: {why}</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>“{quoted}”</source>
            <translation>„{quoted}“</translation>
        </message>
        <message>
            <location filename="../../app/text/dates.py" />
            <source>MMM d</source>
            <translation>d. MMM</translation>
        </message>
        <message>
            <location filename="../../app/text/dates.py" />
            <source>MMM d, yyyy</source>
            <translation>d. MMM yyyy</translation>
        </message>
        <message>
            <location filename="../../app/text/dates.py" />
            <source>MMMM yyyy</source>
            <translation>MMMM yyyy</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/announcer.py" />
            <source>In “{title}”: {said}</source>
            <translation>In „{title}“: {said}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/announcer.py" />
            <source>Reply ended: {ending}</source>
            <translation>Antwort fertig, {ending}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/announcer.py" />
            <source>Reply finished</source>
            <translation>Antwort fertig</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/announcer.py" />
            <source>The reply failed. {error}</source>
            <translation>Die Antwort ist fehlgeschlagen. {error}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/announcer.py" />
            <source>{server} wants to run “{tool}”: {arguments}</source>
            <translation>{server} möchte „{tool}“ ausführen: {arguments}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/announcer.py" />
            <source>{tool} needs approval: {arguments}</source>
            <translation>{tool} braucht Ihre Erlaubnis: {arguments}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Chat Settings</source>
            <translation>Chat-Einstellungen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Close settings</source>
            <translation>Einstellungen schließen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Custom</source>
            <translation>Eigene</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Delete</source>
            <translation>Löschen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Delete this preset</source>
            <translation>Diese Voreinstellung löschen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Done</source>
            <translation>Fertig</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Drops tokens below this fraction of the top token's probability; 0 keeps all.</source>
            <translation>Verwirft Token unter diesem Anteil der Wahrscheinlichkeit des wahrscheinlichsten Tokens; 0 behält alle.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Frequency penalty</source>
            <translation>Häufigkeitsmalus</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Higher values add variety; 0 always picks the most likely token.</source>
            <translation>Höhere Werte bringen mehr Abwechslung; 0 nimmt immer das wahrscheinlichste Token.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Instructions for the model, such as a role, tone, or language</source>
            <translation>Anweisungen an das Modell, etwa Rolle, Ton oder Sprache</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Keeps only this many of the most likely tokens.</source>
            <translation>Behält nur so viele der wahrscheinlichsten Token.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Keeps the most likely tokens up to this total probability; 1 keeps all.</source>
            <translation>Behält die wahrscheinlichsten Token bis zu dieser Gesamtwahrscheinlichkeit; 1 behält alle.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Leave empty for a random seed.</source>
            <translation>Leer lassen für einen zufälligen Seed.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Limits the length of a reply.</source>
            <translation>Begrenzt die Länge einer Antwort.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Name:</source>
            <translation>Name:</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Penalizes tokens more each time they appear.</source>
            <translation>Benachteiligt Token mit jedem Vorkommen stärker.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Penalizes tokens that have already appeared.</source>
            <translation>Benachteiligt Token, die schon vorgekommen sind.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Presence penalty</source>
            <translation>Vorkommensmalus</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Preset</source>
            <translation>Voreinstellung</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Private chat</source>
            <translation>Privater Chat</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Random</source>
            <translation>Zufällig</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Repetition penalty</source>
            <translation>Wiederholungsmalus</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Reset</source>
            <translation>Zurücksetzen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Reset to defaults</source>
            <translation>Auf die Vorgaben zurücksetzen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Save As…</source>
            <translation>Sichern unter …</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Save Preset</source>
            <translation>Voreinstellung sichern</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Save as a preset</source>
            <translation>Als Voreinstellung sichern</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Temperature</source>
            <translation>Temperatur</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>The model thinks before it answers.</source>
            <translation>Das Modell denkt nach, bevor es antwortet.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Thinking</source>
            <translation>Nachdenken</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>This chat is neither cached nor sent to servers.</source>
            <translation>Dieser Chat wird weder zwischengespeichert noch an Server gesendet.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Token limit</source>
            <translation>Token-Grenze</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Values above 1 make repeated tokens less likely.</source>
            <translation>Werte über 1 machen wiederholte Token unwahrscheinlicher.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/composer.py" />
            <source>Attach files</source>
            <translation>Dateien anhängen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/composer.py" />
            <source>Message Slipstream</source>
            <translation>Nachricht an Slipstream</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/composer.py" />
            <source>Send (Return)</source>
            <translation>Senden (Eingabetaste)</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dropped.py" />
            <source>Drop files and images to attach them</source>
            <translation>Dateien und Bilder hier ablegen, um sie anzuhängen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/file_area.py" />
            <source>{name} and {count} more</source>
            <translation>{name} und {count} weitere</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>Cancel the import</source>
            <translation>Import abbrechen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>Context</source>
            <translation>Kontext</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>Don't send the message</source>
            <translation>Nachricht nicht senden</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>Export…</source>
            <translation>Exportieren …</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>Importing “{name}”: {share}</source>
            <translation>„{name}“ wird importiert: {share}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>Messages go to a server on this computer ({host})</source>
            <translation>Nachrichten gehen an einen Server auf diesem Computer ({host})</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>Messages go to {host}</source>
            <translation>Nachrichten gehen an {host}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>Open the chat that needs your approval</source>
            <translation>Den Chat öffnen, der Ihre Genehmigung braucht</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>Replies stop when the chat fills the context</source>
            <translation>Antworten enden, wenn der Chat den Kontext füllt</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>Save a copy of this chat to another location</source>
            <translation>Kopie dieses Chats an einem anderen Ort sichern</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>The latest changes in this chat aren't saved.</source>
            <translation>Die letzten Änderungen in diesem Chat sind nicht gesichert.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>The latest changes in this chat can't be saved: {reason}.</source>
            <translation>Die letzten Änderungen in diesem Chat können nicht gesichert werden: {reason}.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>The oldest messages are left out when the chat fills the context</source>
            <translation>Die ältesten Nachrichten werden weggelassen, wenn der Chat den Kontext füllt</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>This private chat isn't sent to {host}</source>
            <translation>Dieser private Chat wird nicht an {host} gesendet</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>“{title}” needs your approval for a tool call.</source>
            <translation>„{title}“ braucht Ihre Erlaubnis für einen Werkzeugaufruf.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/full_context.py" />
            <source>Cancel the summary</source>
            <translation>Zusammenfassung abbrechen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/full_context.py" />
            <source>Continue with a Rolling Window</source>
            <translation>Mit gleitendem Fenster fortfahren</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/full_context.py" />
            <source>Leaves out the oldest messages but keeps them in the chat</source>
            <translation>Lässt die ältesten Nachrichten weg, behält sie aber im Chat</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/full_context.py" />
            <source>Lets the model summarize the older messages, which stay in the chat</source>
            <translation>Lässt das Modell die älteren Nachrichten zusammenfassen, die im Chat bleiben</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/full_context.py" />
            <source>Summarizing older messages…</source>
            <translation>Ältere Nachrichten werden zusammengefasst …</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/full_context.py" />
            <source>The model's context is full, and “{name}” is larger than all of it. Remove the file.</source>
            <translation>Der Kontext des Modells ist voll, und „{name}“ ist größer als der ganze Kontext. Entfernen Sie die Datei.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/full_context.py" />
            <source>The model's context is full. Continue here, or edit an earlier message.</source>
            <translation>Der Kontext des Modells ist voll. Machen Sie hier weiter, oder bearbeiten Sie eine frühere Nachricht.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/message_editor.py" />
            <source>Cancel editing</source>
            <translation>Bearbeiten abbrechen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/message_editor.py" />
            <source>Edit your message</source>
            <translation>Nachricht bearbeiten</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/message_editor.py" />
            <source>Keeps this version and its replies</source>
            <translation>Diese Version und ihre Antworten bleiben erhalten</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/message_editor.py" />
            <source>Message</source>
            <translation>Nachricht</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/message_editor.py" />
            <source>Send the edited message</source>
            <translation>Bearbeitete Nachricht senden</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/message_field.py" />
            <source>Image {number}</source>
            <translation>Bild {number}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/message_field.py" />
            <source>This image is on a web page. Save it first, then attach the file.</source>
            <translation>Dieses Bild liegt auf einer Webseite. Sichern Sie es zuerst und hängen Sie dann die Datei an.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/notice_bar.py" />
            <source>Choose Another…</source>
            <translation>Anderes Modell …</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/notice_bar.py" />
            <source>Choose another model</source>
            <translation>Anderes Modell auswählen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/notice_bar.py" />
            <source>Close</source>
            <translation>Schließen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/notice_bar.py" />
            <source>Close, and show the notice before</source>
            <translation>Schließen und den vorigen Hinweis zeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/notice_bar.py" />
            <source>Error</source>
            <translation>Fehler</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/notice_bar.py" />
            <source>Learn More</source>
            <translation>Weitere Infos</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/notice_bar.py" />
            <source>Load the demo pair</source>
            <translation>Demo-Paar laden</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/notice_bar.py" />
            <source>Open Help about this problem</source>
            <translation>Hilfe zu diesem Problem öffnen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/notice_bar.py" />
            <source>Reconnect</source>
            <translation>Erneut verbinden</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/notice_bar.py" />
            <source>Try Again</source>
            <translation>Erneut versuchen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/notice_bar.py" />
            <source>Use Demo</source>
            <translation>Demo verwenden</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Add Files…</source>
            <translation>Dateien hinzufügen …</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Add Folder…</source>
            <translation>Ordner hinzufügen …</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Ask before each call to {tool}</source>
            <translation>Vor jedem Aufruf von {tool} fragen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Choose Files That Models May Read</source>
            <translation>Dateien wählen, die Modelle lesen dürfen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Choose a Folder That Models May Read</source>
            <translation>Ordner wählen, den Modelle lesen dürfen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Existing chats keep their settings.</source>
            <translation>Bestehende Chats behalten ihre Einstellungen.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Loaded when a chat begins in this project.</source>
            <translation>Wird geladen, wenn in diesem Projekt ein Chat beginnt.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Model</source>
            <translation>Modell</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Name</source>
            <translation>Name</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>New chats in this project</source>
            <translation>Neue Chats in diesem Projekt</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>On in new chats. You approve each call.</source>
            <translation>In neuen Chats eingeschaltet. Sie genehmigen jeden Aufruf.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Project Settings</source>
            <translation>Projekteinstellungen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Remove</source>
            <translation>Entfernen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Remove {path}</source>
            <translation>{path} entfernen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Revoke</source>
            <translation>Widerrufen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>The Documents tool searches them in this project's chats only.</source>
            <translation>Das Werkzeug „Dokumente“ durchsucht sie nur in den Chats dieses Projekts.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>The model in use</source>
            <translation>Das verwendete Modell</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Tools of {server}</source>
            <translation>Werkzeuge von {server}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Use the settings of all new chats</source>
            <translation>Die Einstellungen aller neuen Chats verwenden</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>{tool}: always allowed</source>
            <translation>{tool}: immer erlaubt</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/quiet_note.py" />
            <source>Quiet mode then stays off on battery, too</source>
            <translation>Der leise Modus bleibt dann auch im Batteriebetrieb aus</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/quiet_note.py" />
            <source>Quiet mode, on battery: replies take about twice as long</source>
            <translation>Leiser Modus (Batterie): Antworten dauern etwa doppelt so lang</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/quiet_note.py" />
            <source>Quiet mode: replies take about twice as long</source>
            <translation>Leiser Modus: Antworten dauern etwa doppelt so lang</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/quiet_note.py" />
            <source>Turn Off</source>
            <translation>Ausschalten</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/quiet_note.py" />
            <source>Turn off quiet mode</source>
            <translation>Leisen Modus ausschalten</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/thinking_button.py" />
            <source>Let the model think before its next reply</source>
            <translation>Das Modell vor der nächsten Antwort nachdenken lassen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/thinking_button.py" />
            <source>This model can't think before it answers.</source>
            <translation>Dieses Modell kann vor dem Antworten nicht nachdenken.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/unread_bar.py" />
            <source>Choose Model…</source>
            <translation>Modell wählen …</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/unread_bar.py" />
            <source>Choose a model that sees images</source>
            <translation>Ein Modell wählen, das Bilder sieht</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>A server's replies can only be compared one after the other.</source>
            <translation>Antworten eines Servers lassen sich nur nacheinander vergleichen.</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>All drafters</source>
            <translation>Alle Drafter</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>Both at the same time</source>
            <translation>Beide gleichzeitig</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>Both modes reply at the same time, with the same seed and settings. Their speeds can't be compared.</source>
            <translation>Beide Modi antworten gleichzeitig, mit demselben Seed und denselben Einstellungen. Ihre Geschwindigkeiten lassen sich nicht vergleichen.</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>Compare with this computer</source>
            <translation>Mit diesem Computer vergleichen</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>Compares every drafter of this model that is on this computer</source>
            <translation>Vergleicht alle Drafter dieses Modells, die auf diesem Computer sind</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>Compares the drafters on several prompts, each with the messages before it</source>
            <translation>Vergleicht die Drafter mit mehreren Prompts, jeweils mit den Nachrichten davor</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>Compares the server with the pair last used on this computer</source>
            <translation>Vergleicht den Server mit dem zuletzt auf diesem Computer verwendeten Paar</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>Computes all replies in exact mode, so that they can't differ</source>
            <translation>Berechnet alle Antworten im exakten Modus, damit sie nicht abweichen können</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>Computes both replies together. Their speeds can't be compared then.</source>
            <translation>Berechnet beide Antworten zusammen. Ihre Geschwindigkeiten lassen sich dann nicht vergleichen.</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>Drafters are loaded one after the other, so they can't reply at the same time.</source>
            <translation>Drafter werden nacheinander geladen und können daher nicht gleichzeitig antworten.</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>Guarantee identical text (slower)</source>
            <translation>Identischen Text garantieren (langsamer)</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>Last {count} prompts of this chat</source>
            <translation>Letzte {count} Prompts dieses Chats</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>The drafters answer the last {count} prompts of this chat, one drafter after the other.</source>
            <translation>Die Drafter beantworten nacheinander die letzten {count} Prompts dieses Chats.</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>The drafters are loaded one after the other. Seed and settings are the same for all.</source>
            <translation>Die Drafter werden nacheinander geladen. Seed und Einstellungen sind für alle gleich.</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>The message before this prompt is included.</source>
            <translation>Die Nachricht vor diesem Prompt ist enthalten.</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>The modes run one after the other, with the same seed and settings.</source>
            <translation>Die Modi laufen nacheinander, mit demselben Seed und denselben Einstellungen.</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>The pair on this computer replies first, then the server. The replies may differ.</source>
            <translation>Zuerst antwortet das Paar auf diesem Computer, dann der Server. Die Antworten können sich unterscheiden.</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>The {count} messages before this prompt are included.</source>
            <translation>Die {count} Nachrichten vor diesem Prompt sind enthalten.</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_side.py" />
            <source>Differs from here on: “{words}”</source>
            <translation>Ab hier anders: „{words}“</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_side.py" />
            <source>Ends here; the other reply continues</source>
            <translation>Endet hier; die andere Antwort geht weiter</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_side.py" />
            <source>Go to the first difference</source>
            <translation>Zum ersten Unterschied gehen</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_side.py" />
            <source>Memory</source>
            <translation>Speicher</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_side.py" />
            <source>Spaces or line breaks differ from here on</source>
            <translation>Ab hier andere Leerzeichen oder Zeilenumbrüche</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_side.py" />
            <source>Thinking ends here; the other reply continues</source>
            <translation>Das Denken endet hier; die andere Antwort geht weiter</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_side.py" />
            <source>Tokens</source>
            <translation>Token</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_side.py" />
            <source>Tokens/round</source>
            <translation>Token/Runde</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_side.py" />
            <source>tok/s</source>
            <translation>Token/s</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_side.py" />
            <source>{description}. Go to the first difference</source>
            <translation>{description}. Zum ersten Unterschied gehen</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_side.py" />
            <source>{mode} reply</source>
            <translation>Antwort: {mode}</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>1 run each</source>
            <translation>je 1 Lauf</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Both modes at the same time, run {index} of {total}</source>
            <translation>Beide Modi gleichzeitig, Lauf {index} von {total}</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Compare</source>
            <translation>Vergleichen</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Compare plain decoding with DFlash</source>
            <translation>Normales Dekodieren mit DFlash vergleichen</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Comparing…</source>
            <translation>Vergleicht …</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Comparison failed</source>
            <translation>Vergleich fehlgeschlagen</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Comparison of {stem}</source>
            <translation>Vergleich {stem}</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Copy Image</source>
            <translation>Bild kopieren</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Copy an image of this comparison</source>
            <translation>Ein Bild dieses Vergleichs kopieren</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Enter a prompt to compare</source>
            <translation>Prompt zum Vergleichen eingeben</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>History</source>
            <translation>Verlauf</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Image copied.</source>
            <translation>Bild kopiert.</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>JSON (*.json)</source>
            <translation>JSON (*.json)</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Loading the models</source>
            <translation>Modelle werden geladen</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Median of {repeats} runs each</source>
            <translation>Median von je {repeats} Läufen</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>PNG image (*.png)</source>
            <translation>PNG-Bild (*.png)</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Result</source>
            <translation>Ergebnis</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Runs per mode</source>
            <translation>Läufe pro Modus</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Save Image</source>
            <translation>Bild sichern</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Save Image…</source>
            <translation>Bild sichern …</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Save Results</source>
            <translation>Ergebnisse sichern</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Save Results…</source>
            <translation>Ergebnisse sichern …</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Save an image of this comparison</source>
            <translation>Ein Bild dieses Vergleichs sichern</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Save this comparison as JSON</source>
            <translation>Diesen Vergleich als JSON sichern</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Show or hide earlier comparisons</source>
            <translation>Frühere Vergleiche ein- oder ausblenden</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Stop</source>
            <translation>Stopp</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Stop comparing</source>
            <translation>Vergleich stoppen</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Stopped</source>
            <translation>Gestoppt</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>This prompt had files, which comparisons don't keep. Comparing again sends only its text.</source>
            <translation>Dieser Prompt hatte Dateien, die Vergleiche nicht aufbewahren. Ein neuer Vergleich sendet nur seinen Text.</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Use the fastest drafter</source>
            <translation>Den schnellsten Drafter verwenden</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Use {name}</source>
            <translation>{name} verwenden</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Verdict</source>
            <translation>Urteil</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>a prompt</source>
            <translation>eines Prompts</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>{count} runs each</source>
            <translation>je {count} Läufe</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>{mode}, run {index} of {total}</source>
            <translation>{mode}, Lauf {index} von {total}</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/comparison_card.py" />
            <source>One run each</source>
            <translation>Je ein Lauf</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/comparison_card.py" />
            <source>at the same time</source>
            <translation>gleichzeitig</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/comparison_card.py" />
            <source>greedy</source>
            <translation>greedy</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/comparison_card.py" />
            <source>one after the other</source>
            <translation>nacheinander</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/comparison_card.py" />
            <source>temperature {temperature}</source>
            <translation>Temperatur {temperature}</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/comparison_card.py" />
            <source>{runs}, {order} · same seed ({seed}) and settings · {sampling} · {machine}</source>
            <translation>{runs}, {order} · gleicher Seed ({seed}) und gleiche Einstellungen · {sampling} · {machine}</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/history_list.py" />
            <source>All pairs</source>
            <translation>Alle Paare</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/history_list.py" />
            <source>Earlier comparisons</source>
            <translation>Frühere Vergleiche</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/history_list.py" />
            <source>Filter by pair</source>
            <translation>Nach Paar filtern</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/history_list.py" />
            <source>Not measured</source>
            <translation>Nicht gemessen</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/history_list.py" />
            <source>Together</source>
            <translation>Zusammen</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/history_list.py" />
            <source>Your comparisons appear here.</source>
            <translation>Ihre Vergleiche erscheinen hier.</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>A server is in use. To measure this computer, load a model.</source>
            <translation>Ein Server wird verwendet. Laden Sie ein Modell, um diesen Computer zu messen.</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Answers prompts with and without the drafter, one after the other. Published sets are downloaded from the model hub.</source>
            <translation>Beantwortet Prompts nacheinander mit und ohne Drafter. Veröffentlichte Prompts werden vom Modell-Hub geladen.</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Benchmark</source>
            <translation>Benchmark</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Benchmark progress</source>
            <translation>Fortschritt des Benchmarks</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Benchmark report (*.json)</source>
            <translation>Benchmark-Bericht (*.json)</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Built-in prompts</source>
            <translation>Integrierte Prompts</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Continue</source>
            <translation>Fortsetzen</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Delete these prompts from disk</source>
            <translation>Diese Prompts von diesem Computer löschen</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Downloading the prompts: {share}</source>
            <translation>Die Prompts werden geladen: {share}</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Let the model think before it answers</source>
            <translation>Das Modell nachdenken lassen, bevor es antwortet</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Load a model to measure it.</source>
            <translation>Laden Sie ein Modell, um es zu messen.</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Number</source>
            <translation>Anzahl</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Paper: what the DFlash paper reports for this model.</source>
            <translation>Paper: was die Veröffentlichung zu DFlash für dieses Modell angibt.</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Pause</source>
            <translation>Anhalten</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Pause the benchmark</source>
            <translation>Benchmark anhalten</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Picture of the benchmark</source>
            <translation>Bild des Benchmarks</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Prompts</source>
            <translation>Prompts</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Remove Download</source>
            <translation>Download entfernen</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>SVG picture (*.svg)</source>
            <translation>SVG-Bild (*.svg)</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Save Picture</source>
            <translation>Bild sichern</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Save Picture…</source>
            <translation>Bild sichern …</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Save Report</source>
            <translation>Bericht sichern</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Save Report…</source>
            <translation>Bericht sichern …</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Start</source>
            <translation>Starten</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Stop the benchmark</source>
            <translation>Benchmark stoppen</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>paused</source>
            <translation>angehalten</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>{done} of {total} replies</source>
            <translation>{done} von {total} Antworten</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/memory_bar.py" />
            <source>Computing</source>
            <translation>Berechnung</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/memory_bar.py" />
            <source>Earlier prompts</source>
            <translation>Frühere Prompts</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/memory_bar.py" />
            <source>Memory is almost full. Background work is paused, and new replies may be refused.</source>
            <translation>Der Arbeitsspeicher ist fast voll. Arbeit im Hintergrund ist angehalten, und neue Antworten werden eventuell abgelehnt.</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/memory_bar.py" />
            <source>Memory is running low. Only one reply runs at a time.</source>
            <translation>Der Arbeitsspeicher wird knapp. Es läuft nur eine Antwort zur selben Zeit.</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/memory_bar.py" />
            <source>Memory is running low. Slipstream has freed what it doesn't need now.</source>
            <translation>Der Arbeitsspeicher wird knapp. Slipstream hat freigegeben, was es gerade nicht braucht.</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/memory_bar.py" />
            <source>Other apps and the system</source>
            <translation>Andere Apps und das System</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/memory_bar.py" />
            <source>Running replies</source>
            <translation>Laufende Antworten</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/memory_bar.py" />
            <source>Slipstream itself</source>
            <translation>Slipstream selbst</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/memory_bar.py" />
            <source>Tuning</source>
            <translation>Anpassung</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/memory_bar.py" />
            <source>Unused buffers</source>
            <translation>Ungenutzte Puffer</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/memory_bar.py" />
            <source>up to {budget} for models</source>
            <translation>bis zu {budget} für Modelle</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/memory_bar.py" />
            <source>{free} available</source>
            <translation>{free} verfügbar</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/memory_bar.py" />
            <source>{reserved} reserved for running replies</source>
            <translation>{reserved} für laufende Antworten reserviert</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Above 100%: these weights fit in the processor cache, which is faster than memory.</source>
            <translation>Über 100 %: Diese Gewichte passen in den Prozessor-Cache, der schneller ist als der Arbeitsspeicher.</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Benchmark…</source>
            <translation>Benchmark …</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Block drafting</source>
            <translation>Blockentwurf</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Block verification</source>
            <translation>Blockprüfung</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Compute</source>
            <translation>Rechenleistung</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Kernels will be tested when Low Power Mode is off.</source>
            <translation>Kernel werden getestet, sobald der Stromsparmodus aus ist.</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Kernels will be tested when this Mac has cooled down.</source>
            <translation>Kernel werden getestet, sobald dieser Mac abgekühlt ist.</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Kernels will be tested when this Mac is connected to power.</source>
            <translation>Kernel werden getestet, sobald dieser Mac mit dem Stromnetz verbunden ist.</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Large matrix products</source>
            <translation>Große Matrixprodukte</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Large matrix products, {dtype}</source>
            <translation>Große Matrixprodukte, {dtype}</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Long-context kernels are used at {count} tokens and above.</source>
            <translation>Kernel für lange Kontexte werden ab {count} Token verwendet.</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Matrix-vector products with 0.5 GB of weights</source>
            <translation>Matrix-Vektor-Produkte mit 0,5 GB Gewichten</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Measure Again</source>
            <translation>Neu messen</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Measured {date}</source>
            <translation>Gemessen: {date}</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Measurement progress</source>
            <translation>Fortschritt der Messung</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Measurement stopped.</source>
            <translation>Messung gestoppt.</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Measuring continues when Slipstream is idle.</source>
            <translation>Die Messung wird fortgesetzt, sobald Slipstream nichts zu tun hat.</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Measuring continues when quiet mode is off.</source>
            <translation>Die Messung wird fortgesetzt, sobald der leise Modus aus ist.</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Memory bandwidth</source>
            <translation>Speicherbandbreite</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Metal kernels</source>
            <translation>Metal-Kernel</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Not measured yet.</source>
            <translation>Noch nicht gemessen.</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Operations per byte read</source>
            <translation>Rechenschritte pro gelesenem Byte</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Plain step</source>
            <translation>Normaler Schritt</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Roofline of this computer</source>
            <translation>Roofline dieses Computers</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Test Kernels</source>
            <translation>Kernel testen</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>This Computer</source>
            <translation>Dieser Computer</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>This Mac</source>
            <translation>Dieser Mac</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>off</source>
            <translation>aus</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>on</source>
            <translation>ein</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>reference BLAS (slow)</source>
            <translation>Referenz-BLAS (langsam)</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>{count} cores</source>
            <translation>{count} Kerne</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>{memory} of memory, {models} for models</source>
            <translation>{memory} Arbeitsspeicher, {models} für Modelle</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>{pair}: plain decoding reads {size} MB per token, so memory limits it to {rate} tokens per second. DFlash reads the same amount for a whole block of tokens.</source>
            <translation>{pair}: Normales Dekodieren liest {size} MB pro Token; der Speicher begrenzt es auf {rate} Token pro Sekunde. DFlash liest ebenso viel für einen ganzen Block.</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>{pair}: plain decoding reads {size} MB per token. That fits in the processor cache, so memory doesn't limit it.</source>
            <translation>{pair}: Normales Dekodieren liest {size} MB pro Token. Das passt in den Cache des Prozessors, daher begrenzt der Speicher es nicht.</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>{phase}: {share} of the limit</source>
            <translation>{phase}: {share} der Grenze</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>{share} of the compute limit</source>
            <translation>{share} der Rechengrenze</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>{share} of the memory limit</source>
            <translation>{share} der Speichergrenze</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>{tokens} in {time}</source>
            <translation>{tokens} in {time}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Address</source>
            <translation>Adresse</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Address for plain replies</source>
            <translation>Adresse für normale Antworten</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Certificate authority</source>
            <translation>Zertifizierungsstelle</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Continuing a stopped reply (not in the server's API)</source>
            <translation>Fortsetzen einer angehaltenen Antwort (nicht in der API des Servers)</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Counting tokens before a reply (not in the server's API)</source>
            <translation>Zählen der Token vor einer Antwort (nicht in der API des Servers)</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Delete Connection?</source>
            <translation>Verbindung löschen?</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Delete…</source>
            <translation>Löschen …</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Edit…</source>
            <translation>Bearbeiten …</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Encrypted</source>
            <translation>Verschlüsselt</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Headers</source>
            <translation>Header</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>In use</source>
            <translation>In Verwendung</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Key</source>
            <translation>Schlüssel</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Not available</source>
            <translation>Nicht verfügbar</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Not encrypted</source>
            <translation>Nicht verschlüsselt</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Not reported</source>
            <translation>Nicht gemeldet</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>OpenAI-compatible</source>
            <translation>OpenAI-kompatibel</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Selected connection</source>
            <translation>Ausgewählte Verbindung</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Server</source>
            <translation>Server</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Speculative decoding</source>
            <translation>Spekulatives Dekodieren</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Speculative decoding (the server doesn't report it)</source>
            <translation>Spekulatives Dekodieren (der Server meldet es nicht)</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Stop connecting</source>
            <translation>Verbinden abbrechen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>The server's first model</source>
            <translation>Das erste Modell des Servers</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Thinking (the server doesn't support it)</source>
            <translation>Denken (der Server unterstützt es nicht)</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Tools (the server doesn't support tool calls)</source>
            <translation>Werkzeuge (der Server unterstützt keine Werkzeugaufrufe)</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Turning off DFlash (add an address for plain replies)</source>
            <translation>Ausschalten von DFlash (fügen Sie eine Adresse für normale Antworten hinzu)</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Unknown</source>
            <translation>Unbekannt</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Use</source>
            <translation>Verwenden</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Yes</source>
            <translation>Ja</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>up to {count} tokens per round</source>
            <translation>bis zu {count} Token pro Runde</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>{action}: {name}</source>
            <translation>{action}: {name}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>{model} (1 of {count})</source>
            <translation>{model} (1 von {count})</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>{name} is in use</source>
            <translation>{name} ist in Verwendung</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>“{name}” will be deleted along with its key.</source>
            <translation>„{name}“ wird zusammen mit dem Schlüssel gelöscht.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>A PEM file, for servers that the system doesn't trust.</source>
            <translation>Eine PEM-Datei, für Server, denen das System nicht vertraut.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>A server with the same model but no speculative decoding. Also used for comparisons.</source>
            <translation>Ein Server mit demselben Modell, aber ohne spekulatives Dekodieren. Wird auch für Vergleiche verwendet.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Add Connection</source>
            <translation>Verbindung hinzufügen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Another connection has this name. Enter a different one.</source>
            <translation>Eine andere Verbindung hat diesen Namen. Geben Sie einen anderen ein.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Choose a Certificate File</source>
            <translation>Zertifikatsdatei wählen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Choose a certificate file</source>
            <translation>Zertifikatsdatei wählen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Choose…</source>
            <translation>Auswählen …</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Edit Connection</source>
            <translation>Verbindung bearbeiten</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Enter an address.</source>
            <translation>Geben Sie eine Adresse ein.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Hide Advanced</source>
            <translation>Erweitert ausblenden</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Messages to “{host}” won't be encrypted. Others on the network can read them.</source>
            <translation>Nachrichten an „{host}“ werden nicht verschlüsselt. Andere im Netzwerk können sie lesen.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>No</source>
            <translation>Nein</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Not needed on this computer</source>
            <translation>Auf diesem Computer nicht nötig</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>One header per line.</source>
            <translation>Eine Kopfzeile pro Zeile.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Only if the server needs one</source>
            <translation>Nur wenn der Server einen braucht</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Optional</source>
            <translation>Optional</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Save</source>
            <translation>Sichern</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Save Anyway</source>
            <translation>Trotzdem sichern</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Save Unencrypted Connection?</source>
            <translation>Unverschlüsselte Verbindung sichern?</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Show Advanced</source>
            <translation>Erweitert einblenden</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Shown in the list (optional)</source>
            <translation>Erscheint in der Liste (optional)</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>System default</source>
            <translation>Systemstandard</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Test</source>
            <translation>Testen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Test result</source>
            <translation>Testergebnis</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Test the connection</source>
            <translation>Verbindung testen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>The connection works.</source>
            <translation>Die Verbindung funktioniert.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>The list has the server's models.</source>
            <translation>Die Liste enthält die Modelle des Servers.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>The name or the model contains control characters. Remove them.</source>
            <translation>Der Name oder das Modell enthält Steuerzeichen. Entfernen Sie sie.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>The server lists no models.</source>
            <translation>Der Server nennt keine Modelle.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Timeout</source>
            <translation>Zeitlimit</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>To list the server's models, test the connection.</source>
            <translation>Um die Modelle des Servers aufzulisten, testen Sie die Verbindung.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Turn off Offline</source>
            <translation>„Offline“ ausschalten</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Your messages are sent to this server.</source>
            <translation>Ihre Nachrichten werden an diesen Server gesendet.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Your messages are sent to {address}.</source>
            <translation>Ihre Nachrichten werden an {address} gesendet.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>seconds</source>
            <translation>Sekunden</translation>
        </message>
        <message>
            <location filename="../../app/views/models/macs_dialog.py" />
            <source>Add</source>
            <translation>Hinzufügen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/macs_dialog.py" />
            <source>Add Another Mac</source>
            <translation>Weiteren Mac hinzufügen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/macs_dialog.py" />
            <source>Add this Mac</source>
            <translation>Diesen Mac hinzufügen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/macs_dialog.py" />
            <source>For models that are too large for one Mac. Run “slipstream worker” in Terminal on the other Mac, which then shows a pairing code. Control traffic is encrypted. What MLX exchanges between the Macs isn't, so use a network you trust.</source>
            <translation>Für Modelle, die für einen Mac zu groß sind. Führen Sie auf dem anderen Mac im Terminal „slipstream worker“ aus; dann zeigt er einen Kopplungscode an. Die Steuerung ist verschlüsselt. Was MLX zwischen den Macs austauscht, ist es nicht. Verwenden Sie daher ein Netzwerk, dem Sie vertrauen.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/macs_dialog.py" />
            <source>Pairing code</source>
            <translation>Kopplungscode</translation>
        </message>
        <message>
            <location filename="../../app/views/models/macs_dialog.py" />
            <source>Remove {name}</source>
            <translation>{name} entfernen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/macs_dialog.py" />
            <source>The Mac was added.</source>
            <translation>Der Mac wurde hinzugefügt.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/macs_dialog.py" />
            <source>Use for the next load</source>
            <translation>Beim nächsten Laden verwenden</translation>
        </message>
        <message>
            <location filename="../../app/views/models/macs_dialog.py" />
            <source>Use {name} for the next load</source>
            <translation>{name} beim nächsten Laden verwenden</translation>
        </message>
        <message>
            <location filename="../../app/views/models/memory_details.py" />
            <source>Hide Memory Details</source>
            <translation>Speicherdetails ausblenden</translation>
        </message>
        <message>
            <location filename="../../app/views/models/memory_details.py" />
            <source>Memory details</source>
            <translation>Speicherdetails</translation>
        </message>
        <message>
            <location filename="../../app/views/models/memory_details.py" />
            <source>Show Memory Details</source>
            <translation>Speicherdetails anzeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_menu.py" />
            <source>All Models…</source>
            <translation>Alle Modelle …</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_menu.py" />
            <source>Auto: {drafter}</source>
            <translation>Automatisch: {drafter}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_menu.py" />
            <source>Connection</source>
            <translation>Verbindung</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_menu.py" />
            <source>Load on this Mac only</source>
            <translation>Nur auf diesem Mac laden</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_menu.py" />
            <source>Load on {count} Macs</source>
            <translation>Auf {count} Macs laden</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_menu.py" />
            <source>Pin {name}</source>
            <translation>{name} anheften</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_menu.py" />
            <source>Recent models</source>
            <translation>Zuletzt benutzte Modelle</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_menu.py" />
            <source>Unpin {name}</source>
            <translation>{name} nicht mehr anheften</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Add a Folder with Models</source>
            <translation>Ordner mit Modellen hinzufügen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Add a folder with models</source>
            <translation>Einen Ordner mit Modellen hinzufügen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Add…</source>
            <translation>Hinzufügen …</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Applies to all downloads combined.</source>
            <translation>Gilt für alle Downloads zusammen.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Check the token and save it in the keychain</source>
            <translation>Token prüfen und im Schlüsselbund sichern</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Checking the token…</source>
            <translation>Token wird geprüft …</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Download speed</source>
            <translation>Download-Geschwindigkeit</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Enter a mirror's address, or leave the field empty for huggingface.co.</source>
            <translation>Geben Sie die Adresse eines Spiegelservers ein, oder lassen Sie das Feld für huggingface.co leer.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Hub token</source>
            <translation>Hub-Token</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Model folder</source>
            <translation>Modellordner</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Model hub</source>
            <translation>Modell-Hub</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Move Models To</source>
            <translation>Modelle verschieben nach</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Move progress</source>
            <translation>Fortschritt beim Verschieben</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Move the models to another folder</source>
            <translation>Die Modelle in einen anderen Ordner verschieben</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Move…</source>
            <translation>Verschieben …</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Moving models: {done} of {total}</source>
            <translation>Modelle werden verschoben: {done} von {total}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Needed for gated models. It is stored in the keychain and sent only to the hub.</source>
            <translation>Für zugangsbeschränkte Modelle. Wird im Schlüsselbund gesichert und nur an den Hub gesendet.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Needed for gated models. No keychain is available, so it can't be stored.</source>
            <translation>Wird für zugangsbeschränkte Modelle benötigt. Es ist kein Schlüsselbund verfügbar, daher kann es nicht gespeichert werden.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>No token is stored in the keychain.</source>
            <translation>Im Schlüsselbund ist kein Token.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Other folders</source>
            <translation>Weitere Ordner</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Remove the token from the keychain</source>
            <translation>Das Token aus dem Schlüsselbund entfernen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Stop moving</source>
            <translation>Verschieben stoppen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Stop using this folder and keep its files</source>
            <translation>Diesen Ordner nicht mehr verwenden und seine Dateien behalten</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>The folder is set by {variable} and can't be changed here.</source>
            <translation>Der Ordner ist durch {variable} festgelegt und lässt sich hier nicht ändern.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Their models are used in place. LM Studio's are found without being added.</source>
            <translation>Ihre Modelle werden an Ort und Stelle verwendet. Die von LM Studio werden auch so gefunden.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Token removed.</source>
            <translation>Token entfernt.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Token saved for {account}.</source>
            <translation>Token für {account} gesichert.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Unlimited</source>
            <translation>Unbegrenzt</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>You can keep chatting, but you can't download, load, or delete models.</source>
            <translation>Sie können weiter chatten, aber keine Modelle herunterladen, laden oder löschen.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>{size} of disk space available</source>
            <translation>{size} Speicherplatz verfügbar</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Can't fetch details. Check your network connection.</source>
            <translation>Details konnten nicht abgerufen werden. Prüfen Sie Ihre Netzwerkverbindung.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Cancel loading</source>
            <translation>Laden abbrechen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Cancel the download and delete the partial files</source>
            <translation>Download abbrechen und Teildateien löschen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Check the hub again</source>
            <translation>Hub erneut abfragen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Delete the drafter from disk. The target stays where it is.</source>
            <translation>Den Drafter von der Festplatte löschen. Das Zielmodell bleibt, wo es ist.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Delete this pair from disk</source>
            <translation>Dieses Paar von diesem Computer löschen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Enter Token…</source>
            <translation>Token eingeben …</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Enter a hub token</source>
            <translation>Hub-Token eingeben</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Not verified</source>
            <translation>Nicht überprüft</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Not verified by Slipstream</source>
            <translation>Nicht von Slipstream überprüft</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>On {count} Macs</source>
            <translation>Auf {count} Macs</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Pause the download</source>
            <translation>Laden anhalten</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Progress</source>
            <translation>Fortschritt</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Quantization</source>
            <translation>Quantisierung</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Remove from List</source>
            <translation>Aus der Liste nehmen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Remove this pair from the list and keep its files</source>
            <translation>Dieses Paar aus der Liste nehmen; die Dateien bleiben</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Resume</source>
            <translation>Fortsetzen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Selected pair</source>
            <translation>Ausgewähltes Paar</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>This model is gated: you may have to accept its conditions on the hub first.</source>
            <translation>Dieses Modell ist zugangsbeschränkt: Eventuell müssen Sie zuerst im Hub die Bedingungen annehmen.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Tune Drafter…</source>
            <translation>Drafter anpassen …</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Tune the drafter to your messages</source>
            <translation>Den Drafter an Ihre Nachrichten anpassen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>12-megapixel image</source>
            <translation>Bild mit 12 Megapixeln</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Can't see images</source>
            <translation>Sieht keine Bilder</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Download</source>
            <translation>Laden</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Download about {size}</source>
            <translation>Etwa {size} laden</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Download {size}</source>
            <translation>{size} laden</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Downloads</source>
            <translation>Downloads</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Drafter context</source>
            <translation>Kontext des Drafters</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Drafter weights</source>
            <translation>Gewichte des Drafters</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Estimated when the hub responds.</source>
            <translation>Wird geschätzt, sobald der Hub geantwortet hat.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Fits, with little memory to spare.</source>
            <translation>Passt, mit wenig freiem Speicher.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Kind</source>
            <translation>Art</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Language model</source>
            <translation>Sprachmodell</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Leaves memory for long chats and other apps.</source>
            <translation>Lässt Speicher für lange Chats und andere Apps.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>License</source>
            <translation>Lizenz</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Location</source>
            <translation>Speicherort</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Memory use is unknown until the hub responds.</source>
            <translation>Der Speicherbedarf ist unbekannt, bis der Hub geantwortet hat.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>None (plain decoding)</source>
            <translation>Keiner (normales Dekodieren)</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Nothing to download</source>
            <translation>Nichts zu laden</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Of {count} Macs, this one needs the most memory.</source>
            <translation>Von {count} Macs braucht dieser den meisten Speicher.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Other</source>
            <translation>Andere</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Predicted once a pair was loaded on {count} Macs.</source>
            <translation>Wird vorhergesagt, sobald ein Paar auf {count} Macs geladen wurde.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Published speedups</source>
            <translation>Veröffentlichte Beschleunigung</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Published tokens per round: 2.7 to 3.8 with thinking, 3.3 to 6.5 without.</source>
            <translation>Veröffentlichte Token pro Runde: 2,7 bis 3,8 mit Nachdenken, 3,3 bis 6,5 ohne.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Quick to download and light on memory.</source>
            <translation>Schnell geladen, braucht wenig Speicher.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Recent chats</source>
            <translation>Letzte Chats</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Recommended for this computer.</source>
            <translation>Für diesen Computer empfohlen.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Recurrent state</source>
            <translation>Rekurrenter Zustand</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Sees images and pages of PDFs</source>
            <translation>Sieht Bilder und PDF-Seiten</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Shown after a few replies.</source>
            <translation>Erscheint nach einigen Antworten.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Speed in chats</source>
            <translation>Geschwindigkeit in Chats</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Speed in code and math</source>
            <translation>Geschwindigkeit bei Code und Mathematik</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Target</source>
            <translation>Zielmodell</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Target KV cache</source>
            <translation>K/V des Zielmodells</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Target folder</source>
            <translation>Ordner des Zielmodells</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Target weights</source>
            <translation>Gewichte des Zielmodells</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>The drafter was fine-tuned for Three.js code.</source>
            <translation>Der Drafter wurde für Three.js-Code nachtrainiert.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>The drafter was trained on non-thinking replies.</source>
            <translation>Der Drafter wurde mit Antworten ohne Denkphase trainiert.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>The weights need about {needed} of memory.</source>
            <translation>Die Gewichte brauchen etwa {needed} Speicher.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>The weights need about {needed} of the {budget} available to models.</source>
            <translation>Die Gewichte brauchen etwa {needed} der {budget}, die für Modelle verfügbar sind.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>The weights need about {needed}, more than the {budget} available to models.</source>
            <translation>Die Gewichte benötigen etwa {needed}, mehr als die {budget}, die für Modelle verfügbar sind.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>This computer</source>
            <translation>Dieser Computer</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>To see an estimate, choose Help ▸ {page} and measure this computer.</source>
            <translation>Für eine Schätzung messen Sie diesen Computer unter „Hilfe“ ▸ „{page}“.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Too slow without a GPU.</source>
            <translation>Ohne GPU zu langsam.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Total for one chat</source>
            <translation>Gesamt für einen Chat</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Trained for code.</source>
            <translation>Für Code trainiert.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Trained for token trees, with 4.6 to 9.6× the plain speed on a B200. Slipstream drafts one path.</source>
            <translation>Für Token-Bäume trainiert, mit 4,6- bis 9,6-facher Geschwindigkeit auf einer B200. Slipstream entwirft einen einzelnen Pfad.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Trained for token trees. Slipstream drafts one path.</source>
            <translation>Für Token-Bäume trainiert. Slipstream entwirft einen einzelnen Pfad.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Up to {size} more</source>
            <translation>Bis zu {size} zusätzlich</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Weights of both models</source>
            <translation>Gewichte beider Modelle</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Why this pair</source>
            <translation>Darum dieses Paar</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Without DFlash</source>
            <translation>Ohne DFlash</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Workspace</source>
            <translation>Zwischenergebnisse</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>block size {count}</source>
            <translation>Blockgröße {count}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>drafter: {license}</source>
            <translation>Drafter: {license}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>{context}. DFlash helps little beyond about {least}.</source>
            <translation>{context}. Ab etwa {least} bringt DFlash wenig.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>{count} in the last month</source>
            <translation>{count} im letzten Monat</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>{kind} by {maker}</source>
            <translation>{kind} von {maker}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>{kind} drafter, with a higher acceptance rate.</source>
            <translation>{kind}-Drafter mit höherer Annahmequote.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>{low} to {high}× the plain speed on {machine}</source>
            <translation>{low}- bis {high}-fache normale Geschwindigkeit auf {machine}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>{rate}, no gain</source>
            <translation>{rate}, kein Gewinn</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>{rate}, no gain to {high}×</source>
            <translation>{rate}, kein Gewinn bis {high}-fach</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>{rate}, {gain}×</source>
            <translation>{rate}, {gain}-fach</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>{ratio}× the plain speed on {machine}</source>
            <translation>{ratio}-fache normale Geschwindigkeit auf {machine}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>{size} at {tokens}</source>
            <translation>{size} bei {tokens}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>{size} for models</source>
            <translation>{size} für Modelle</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>{size} free now</source>
            <translation>{size} derzeit frei</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_list.py" />
            <source>Downloading</source>
            <translation>Download läuft</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_list.py" />
            <source>Loading</source>
            <translation>Wird geladen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_list.py" />
            <source>Model pairs and connections</source>
            <translation>Modellpaare und Verbindungen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_list.py" />
            <source>On disk</source>
            <translation>Lokal</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_list.py" />
            <source>Paused</source>
            <translation>Angehalten</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Add a pair, a Mac, or a connection</source>
            <translation>Paar, Mac oder Verbindung hinzufügen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>All</source>
            <translation>Alle</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Another Mac…</source>
            <translation>Weiterer Mac …</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Check</source>
            <translation>Prüfen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Check compatibility</source>
            <translation>Kompatibilität prüfen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Choose a Folder</source>
            <translation>Ordner auswählen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Choose the drafter folder</source>
            <translation>Ordner des Drafters auswählen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Choose the target folder</source>
            <translation>Ordner des Zielmodells auswählen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Coding</source>
            <translation>Code</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Connection…</source>
            <translation>Verbindung …</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Custom Pair</source>
            <translation>Eigenes Paar</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Custom Pair…</source>
            <translation>Eigenes Paar …</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Delete the removed pairs now</source>
            <translation>Entfernte Paare jetzt löschen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Disk space</source>
            <translation>Speicherplatz</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Enter a model's name, or OWNER/NAME. Your search is sent to the hub.</source>
            <translation>Geben Sie den Namen eines Modells oder EIGENTÜMER/NAME ein. Ihre Suche wird an den Hub gesendet.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Enter two repos or two folders.</source>
            <translation>Geben Sie zwei Repos oder zwei Ordner ein.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Find</source>
            <translation>Suchen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Find a drafter on this computer and on the hub</source>
            <translation>Drafter auf diesem Computer und im Hub suchen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Fits</source>
            <translation>Passt</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Free Up Space Now</source>
            <translation>Speicherplatz jetzt freigeben</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Hub</source>
            <translation>Hub</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Looking for models…</source>
            <translation>Modelle werden gesucht …</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Model folder, download speed, and hub</source>
            <translation>Modellordner, Download-Geschwindigkeit und Hub</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Models</source>
            <translation>Modelle</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>No listed pairs match “{search}”.</source>
            <translation>Kein aufgeführtes Paar passt zu „{search}“.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>No models on the hub match “{search}”.</source>
            <translation>Kein Modell im Hub passt zu „{search}“.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>No pairs match this filter.</source>
            <translation>Kein Paar passt zu diesem Filter.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Offline is on, so the hub can't be searched.</source>
            <translation>„Offline“ ist eingeschaltet, daher kann der Hub nicht durchsucht werden.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Removed</source>
            <translation>Entfernt</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Restore the most recently removed pair</source>
            <translation>Zuletzt entferntes Paar wiederherstellen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Search models</source>
            <translation>Modelle suchen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Search the Hub</source>
            <translation>Hub durchsuchen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Search the hub</source>
            <translation>Hub durchsuchen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Search the hub again</source>
            <translation>Hub erneut durchsuchen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Searching for a drafter…</source>
            <translation>Drafter wird gesucht …</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Searching the hub…</source>
            <translation>Der Hub wird durchsucht …</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Settings…</source>
            <translation>Einstellungen …</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Show: {filter}</source>
            <translation>Anzeigen: {filter}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Small</source>
            <translation>Klein</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>The target and the drafter are compatible.</source>
            <translation>Zielmodell und Drafter passen zusammen.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>The target can be any model that mlx-lm supports. The drafter must be trained for that target; leave it empty for plain decoding. Slipstream never runs Python code from a repo.</source>
            <translation>Das Zielmodell ist ein beliebiges Modell, das mlx-lm unterstützt; der Drafter muss dafür trainiert sein. Ohne Drafter wird normal dekodiert. Python-Code eines Repos wird nie ausgeführt.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>This model can be used with plain decoding.</source>
            <translation>Dieses Modell lässt sich mit normalem Dekodieren verwenden.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>owner/name or a folder</source>
            <translation>Besitzer/Name oder ein Ordner</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>owner/name or a folder (optional)</source>
            <translation>Besitzer/Name oder ein Ordner (optional)</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>{names} removed. {size} will be freed when you quit.</source>
            <translation>{names} entfernt. {size} werden beim Beenden frei.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>{name} has been downloaded and verified.</source>
            <translation>{name} wurde heruntergeladen und überprüft.</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>1 page</source>
            <translation>1 Seite</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>1 page has no text and isn't read.</source>
            <translation>1 Seite hat keinen Text und wird nicht gelesen.</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>As Picture</source>
            <translation>Als Bild</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>As Text</source>
            <translation>Als Text</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Don't Send</source>
            <translation>Nicht senden</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Don't send the selected pages</source>
            <translation>Ausgewählte Seiten nicht senden</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Enter pages from 1 to {last}.</source>
            <translation>Seiten von 1 bis {last} eingeben.</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Has a table</source>
            <translation>Enthält eine Tabelle</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Has figures</source>
            <translation>Enthält Abbildungen</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Has notes or form fields</source>
            <translation>Enthält Notizen oder Formularfelder</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>No page fits in the context.</source>
            <translation>Keine Seite passt in den Kontext.</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>No text</source>
            <translation>Kein Text</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Not read</source>
            <translation>Nicht gelesen</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Not sent</source>
            <translation>Nicht gesendet</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Only the first page fits in the context.</source>
            <translation>Nur die erste Seite passt in den Kontext.</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Only the first {count} pages fit in the context.</source>
            <translation>Nur die ersten {count} Seiten passen in den Kontext.</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Page {number}</source>
            <translation>Seite {number}</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Pages</source>
            <translation>Seiten</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Picture</source>
            <translation>Bild</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Scanned, or hardly any text</source>
            <translation>Gescannt oder kaum Text</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Select pages</source>
            <translation>Seiten auswählen</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Select pages, such as 1-5, 8</source>
            <translation>Seiten auswählen, zum Beispiel 1-5, 8</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Send Page 1</source>
            <translation>Seite 1 senden</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Send Pages 1–{number}</source>
            <translation>Seiten 1–{number} senden</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Send the selected pages as pictures</source>
            <translation>Ausgewählte Seiten als Bilder senden</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Send the selected pages as text</source>
            <translation>Ausgewählte Seiten als Text senden</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Show Page</source>
            <translation>Seite anzeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Summary</source>
            <translation>Zusammenfassung</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Text of page {number}</source>
            <translation>Text von Seite {number}</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Text only</source>
            <translation>Nur Text</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>This model can't see images, so it gets only the text of the pages.</source>
            <translation>Dieses Modell sieht keine Bilder und erhält nur den Text der Seiten.</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>This page has no text.</source>
            <translation>Diese Seite hat keinen Text.</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>{count} as pictures</source>
            <translation>{count} als Bilder</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>{count} not read</source>
            <translation>{count} nicht gelesen</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>{count} not sent</source>
            <translation>{count} nicht gesendet</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>{count} pages</source>
            <translation>{count} Seiten</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>{count} pages have no text and aren't read.</source>
            <translation>{count} Seiten haben keinen Text und werden nicht gelesen.</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/picture_actions.py" />
            <source>Image</source>
            <translation>Bild</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/picture_actions.py" />
            <source>Open</source>
            <translation>Öffnen</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/viewer.py" />
            <source>Actual Size</source>
            <translation>Originalgröße</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/viewer.py" />
            <source>Fit</source>
            <translation>Anpassen</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/viewer.py" />
            <source>Fit the image into the window</source>
            <translation>Bild an das Fenster anpassen</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/viewer.py" />
            <source>Loading…</source>
            <translation>Lädt …</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/viewer.py" />
            <source>Next image</source>
            <translation>Nächstes Bild</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/viewer.py" />
            <source>Previous image</source>
            <translation>Vorheriges Bild</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/viewer.py" />
            <source>Zoom in</source>
            <translation>Vergrößern</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/viewer.py" />
            <source>Zoom out</source>
            <translation>Verkleinern</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/viewer.py" />
            <source>{place} of {count}</source>
            <translation>{place} von {count}</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/viewer.py" />
            <source>“{name}” is missing. It can't be shown.</source>
            <translation>„{name}“ fehlt und kann nicht angezeigt werden.</translation>
        </message>
        <message>
            <location filename="../../app/views/quick/quick_window.py" />
            <source>Go on in the main window</source>
            <translation>Im Hauptfenster weitermachen</translation>
        </message>
        <message>
            <location filename="../../app/views/quick/quick_window.py" />
            <source>No models loaded</source>
            <translation>Keine Modelle geladen</translation>
        </message>
        <message>
            <location filename="../../app/views/quick/quick_window.py" />
            <source>Open in Slipstream</source>
            <translation>In Slipstream öffnen</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>API key</source>
            <translation>API-Schlüssel</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Can't start {agent}. Copy the commands and run them yourself.</source>
            <translation>{agent} lässt sich nicht starten. Kopieren Sie die Befehle und führen Sie sie selbst aus.</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Choose models</source>
            <translation>Modelle auswählen</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Coding agent</source>
            <translation>Coding-Agent</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Copy Commands</source>
            <translation>Befehle kopieren</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Copy the API key</source>
            <translation>API-Schlüssel kopieren</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Copy the address</source>
            <translation>Adresse kopieren</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Copy the commands that start the coding agent</source>
            <translation>Befehle kopieren, die den Coding-Agenten starten</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Copy the example</source>
            <translation>Beispiel kopieren</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Example request</source>
            <translation>Beispielanfrage</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Folder for {agent}</source>
            <translation>Ordner für {agent}</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>For programs that use OpenAI's API. For Anthropic's API, leave out “/v1”.</source>
            <translation>Für Programme, die die API von OpenAI nutzen. Für die API von Anthropic „/v1“ weglassen.</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Generate</source>
            <translation>Erzeugen</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Generate New Key?</source>
            <translation>Neuen Schlüssel erzeugen?</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Generate New Key…</source>
            <translation>Neuen Schlüssel erzeugen …</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Generated when the server starts</source>
            <translation>Wird beim Start des Servers erzeugt</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Hide</source>
            <translation>Ausblenden</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Hide the API key</source>
            <translation>API-Schlüssel ausblenden</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Lets coding agents and other programs on this computer use the loaded model.</source>
            <translation>Damit können Coding-Agenten und andere Programme auf diesem Computer das geladene Modell nutzen.</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Local Server</source>
            <translation>Lokaler Server</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Messages from these programs are sent to {host}.</source>
            <translation>Nachrichten dieser Programme werden an {host} gesendet.</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Models…</source>
            <translation>Modelle …</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>No active requests</source>
            <translation>Keine aktiven Anfragen</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Position {position} in the queue</source>
            <translation>Position {position} in der Warteschlange</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Programs need this key, which is stored in the keychain.</source>
            <translation>Programme brauchen diesen Schlüssel. Er ist im Schlüsselbund gespeichert.</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Programs with the current key can't connect until you give them the new one.</source>
            <translation>Programme mit dem aktuellen Schlüssel können sich erst wieder verbinden, wenn Sie ihnen den neuen geben.</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Reading the prompt: {done} of {total} tokens</source>
            <translation>Prompt wird gelesen: {done} von {total} Token</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Request log</source>
            <translation>Anfrageprotokoll</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Requests</source>
            <translation>Anfragen</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Run local server</source>
            <translation>Lokalen Server ausführen</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Show the API key</source>
            <translation>API-Schlüssel anzeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Start the coding agent in a folder</source>
            <translation>Coding-Agenten in einem Ordner starten</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Starting…</source>
            <translation>Startet …</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Start…</source>
            <translation>Starten …</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>The agent uses this server and leaves your own settings unchanged.</source>
            <translation>Der Agent nutzt diesen Server und lässt Ihre eigenen Einstellungen unverändert.</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>This computer has no keychain, so the key is valid only until you quit Slipstream.</source>
            <translation>Dieser Computer hat keinen Schlüsselbund. Der Schlüssel gilt daher nur, bis Sie Slipstream beenden.</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>{count} of {total} prompt tokens cached</source>
            <translation>{count} von {total} Prompt-Token aus dem Cache</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>{count} replies, {rate} together</source>
            <translation>{count} Antworten, zusammen {rate}</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/chat_files_row.py" />
            <source>1 file</source>
            <translation>1 Datei</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/chat_files_row.py" />
            <source>Images and PDFs</source>
            <translation>Bilder und PDFs</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/chat_files_row.py" />
            <source>None in your chats</source>
            <translation>Keine in Ihren Chats</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/chat_files_row.py" />
            <source>They are deleted with their messages and chats.</source>
            <translation>Sie werden mit ihren Nachrichten und Chats gelöscht.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/chat_files_row.py" />
            <source>{files} in your chats, {size}</source>
            <translation>{files} in Ihren Chats, {size}</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>1 connection</source>
            <translation>1 Verbindung</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>All Purposes</source>
            <translation>Alle Zwecke</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>Clear…</source>
            <translation>Löschen …</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>Connections</source>
            <translation>Verbindungen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>Data</source>
            <translation>Daten</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>Delete the List of Connections?</source>
            <translation>Liste der Verbindungen löschen?</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>Delete the list of connections</source>
            <translation>Liste der Verbindungen löschen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>Every connection that Slipstream makes, and that programs make to its server. The list stays on this computer.</source>
            <translation>Jede Verbindung, die Slipstream herstellt und die Programme zu seinem Server herstellen. Die Liste bleibt auf diesem Computer.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>Filter by host</source>
            <translation>Nach Host filtern</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>No connections yet</source>
            <translation>Noch keine Verbindungen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>No matching connections</source>
            <translation>Keine passenden Verbindungen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>Not listed: connections of your browser and of coding agents.</source>
            <translation>Nicht aufgeführt: Verbindungen Ihres Browsers und von Coding-Agenten.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>Not listed: connections of your browser, of coding agents, and of these programs: {names}.</source>
            <translation>Nicht aufgeführt: Verbindungen Ihres Browsers, von Coding-Agenten und von diesen Programmen: {names}.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>Purpose</source>
            <translation>Zweck</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>The list of connections will be deleted. Connections that are open will be listed again when they end.</source>
            <translation>Die Liste der Verbindungen wird gelöscht. Offene Verbindungen werden wieder aufgeführt, wenn sie enden.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>When</source>
            <translation>Zeitpunkt</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>{connections}: {data}</source>
            <translation>{connections}: {data}</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>{count} connections</source>
            <translation>{count} Verbindungen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>{host} (proxy)</source>
            <translation>{host} (Proxy)</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>{sent} sent, {received} received</source>
            <translation>{sent} gesendet, {received} empfangen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/saved_prompt_rows.py" />
            <source>Choose Folder…</source>
            <translation>Ordner auswählen …</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/saved_prompt_rows.py" />
            <source>Choose a Folder for Saved Prompts</source>
            <translation>Ordner für gesicherte Prompts auswählen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/saved_prompt_rows.py" />
            <source>Choose a folder for saved prompts</source>
            <translation>Ordner für gesicherte Prompts auswählen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/saved_prompt_rows.py" />
            <source>Clear Now…</source>
            <translation>Jetzt löschen …</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/saved_prompt_rows.py" />
            <source>Delete All Saved Prompts?</source>
            <translation>Alle gesicherten Prompts löschen?</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/saved_prompt_rows.py" />
            <source>Delete all saved prompts</source>
            <translation>Alle gesicherten Prompts löschen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/saved_prompt_rows.py" />
            <source>Folder</source>
            <translation>Ordner</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/saved_prompt_rows.py" />
            <source>Nothing saved yet</source>
            <translation>Noch nichts gesichert</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/saved_prompt_rows.py" />
            <source>Prompts aren't saved.</source>
            <translation>Prompts werden nicht gesichert.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/saved_prompt_rows.py" />
            <source>Some saved prompts couldn't be deleted. Slipstream will try again at the next launch.</source>
            <translation>Einige gesicherte Prompts konnten nicht gelöscht werden. Slipstream versucht es beim nächsten Start erneut.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/saved_prompt_rows.py" />
            <source>Space used</source>
            <translation>Belegter Speicher</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/saved_prompt_rows.py" />
            <source>Your chats are kept, but the next reply in each will take longer to start.</source>
            <translation>Ihre Chats bleiben erhalten, aber die nächste Antwort in jedem beginnt später.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/saved_prompt_rows.py" />
            <source>{tokens} tokens were read from disk instead of computed.</source>
            <translation>{tokens} Token wurden von der Festplatte gelesen statt berechnet.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/saved_prompt_rows.py" />
            <source>{used} of {space} used</source>
            <translation>{used} von {space} belegt</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Advanced</source>
            <translation>Erweitert</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>General</source>
            <translation>Allgemein</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Network</source>
            <translation>Netzwerk</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>New Chats</source>
            <translation>Neue Chats</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Panes</source>
            <translation>Bereiche</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Privacy</source>
            <translation>Datenschutz</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Restart</source>
            <translation>Neu starten</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Restart Slipstream</source>
            <translation>Slipstream neu starten</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Settings – {pane}</source>
            <translation>Einstellungen – {pane}</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_list.py" />
            <source>Actions</source>
            <translation>Aktionen</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_list.py" />
            <source>Actions for “{title}”</source>
            <translation>Aktionen für „{title}“</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_list.py" />
            <source>Chats</source>
            <translation>Chats</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_list.py" />
            <source>No chats yet</source>
            <translation>Noch keine Chats</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_list.py" />
            <source>Pin Chat</source>
            <translation>Chat anheften</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_list.py" />
            <source>Pin “{title}”</source>
            <translation>„{title}“ anheften</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_list.py" />
            <source>Unpin “{title}”</source>
            <translation>„{title}“ nicht mehr anheften</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_list.py" />
            <source>{title}, new reply</source>
            <translation>{title}, neue Antwort</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_sections.py" />
            <source>Archived</source>
            <translation>Archiviert</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_sections.py" />
            <source>Pinned</source>
            <translation>Angeheftet</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_sections.py" />
            <source>Previous 30 Days</source>
            <translation>Letzte 30 Tage</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_sections.py" />
            <source>Previous 7 Days</source>
            <translation>Letzte 7 Tage</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_sections.py" />
            <source>Projects</source>
            <translation>Projekte</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_sections.py" />
            <source>Today</source>
            <translation>Heute</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_sections.py" />
            <source>Yesterday</source>
            <translation>Gestern</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/search_results.py" />
            <source>1 more message</source>
            <translation>1 weitere Nachricht</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/search_results.py" />
            <source>Search results</source>
            <translation>Suchergebnisse</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/search_results.py" />
            <source>{count} more messages</source>
            <translation>{count} weitere Nachrichten</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/sidebar.py" />
            <source>Last change</source>
            <translation>Letzte Änderung</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/sidebar.py" />
            <source>New Chat</source>
            <translation>Neuer Chat</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/sidebar.py" />
            <source>No results for “{words}”</source>
            <translation>Keine Treffer für „{words}“</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/sidebar.py" />
            <source>Search</source>
            <translation>Suchen</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/sidebar.py" />
            <source>Search all chats</source>
            <translation>Alle Chats durchsuchen</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>1 call</source>
            <translation>1 Aufruf</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>All Tools</source>
            <translation>Alle Werkzeuge</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>Arguments</source>
            <translation>Argumente</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>Clear</source>
            <translation>Leeren</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>Clear the List of Calls?</source>
            <translation>Liste der Aufrufe leeren?</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>Clear the list of calls</source>
            <translation>Liste der Aufrufe leeren</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>No tool calls</source>
            <translation>Keine Werkzeugaufrufe</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>Open the chat “{title}”</source>
            <translation>Chat „{title}“ öffnen</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>Result · The first {count} characters; the chat has all</source>
            <translation>Ergebnis · Die ersten {count} Zeichen; der Chat enthält alle</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>The calls in your chats, with those that you denied. Deleting a chat deletes its calls.</source>
            <translation>Die Aufrufe in Ihren Chats, auch abgelehnte. Wenn Sie einen Chat löschen, werden seine Aufrufe gelöscht.</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>The list will be empty. The chats keep their calls, and later calls are listed.</source>
            <translation>Die Liste wird geleert. Die Chats behalten ihre Aufrufe, und spätere Aufrufe werden aufgeführt.</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>Tool</source>
            <translation>Werkzeug</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>Tool Calls</source>
            <translation>Werkzeugaufrufe</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>Tool calls</source>
            <translation>Werkzeugaufrufe</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>{calls}, of the latest {count}</source>
            <translation>{calls}, von den letzten {count}</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>{count} calls</source>
            <translation>{count} Aufrufe</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>1 tool</source>
            <translation>1 Werkzeug</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Add a folder that models may read.</source>
            <translation>Fügen Sie einen Ordner hinzu, den Modelle lesen dürfen.</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Always allowed</source>
            <translation>Immer erlaubt</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Calculates an arithmetic expression.</source>
            <translation>Berechnet einen arithmetischen Ausdruck.</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Changed · needs approval again</source>
            <translation>Geändert · fragt wieder</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Connected · {tools}</source>
            <translation>Verbunden · {tools}</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Finds files by a text in their names or contents.</source>
            <translation>Findet Dateien nach einem Text in ihrem Namen oder Inhalt.</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Hide Tools</source>
            <translation>Werkzeuge ausblenden</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Lists a folder.</source>
            <translation>Listet einen Ordner auf.</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Not connected</source>
            <translation>Nicht verbunden</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Reads a page of a document.</source>
            <translation>Liest eine Seite eines Dokuments.</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Reads a text file.</source>
            <translation>Liest eine Textdatei.</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Remove Server?</source>
            <translation>Server entfernen?</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Remove the folder {folder}</source>
            <translation>Ordner {folder} entfernen</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Remove…</source>
            <translation>Entfernen …</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Searches the documents.</source>
            <translation>Durchsucht die Dokumente.</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Show Tools</source>
            <translation>Werkzeuge anzeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Sign In…</source>
            <translation>Anmelden …</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Sign Out</source>
            <translation>Abmelden</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Sign-in required</source>
            <translation>Anmeldung erforderlich</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Use {server}</source>
            <translation>{server} verwenden</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>{count} tools</source>
            <translation>{count} Werkzeuge</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>“{server}” will be removed along with its secrets and approvals.</source>
            <translation>„{server}“ wird mit allen Geheimnissen und Genehmigungen entfernt.</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_form.py" />
            <source>A quotation mark isn't closed.</source>
            <translation>Ein Anführungszeichen ist nicht geschlossen.</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_form.py" />
            <source>Add Server</source>
            <translation>Server hinzufügen</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_form.py" />
            <source>Add the selected servers</source>
            <translation>Ausgewählte Server hinzufügen</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_form.py" />
            <source>Another server has this name.</source>
            <translation>Ein anderer Server hat diesen Namen.</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_form.py" />
            <source>Choose the servers to add from {source}. They stay off until you turn them on.</source>
            <translation>Wählen Sie die Server aus {source}, die Sie hinzufügen möchten. Sie bleiben aus, bis Sie sie einschalten.</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_form.py" />
            <source>Command or address</source>
            <translation>Befehl oder Adresse</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_form.py" />
            <source>Commands run with your permissions. Add only servers that you trust.</source>
            <translation>Befehle laufen mit Ihren Rechten. Fügen Sie nur Server hinzu, denen Sie vertrauen.</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_form.py" />
            <source>Edit Server</source>
            <translation>Server bearbeiten</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_form.py" />
            <source>Enter a command or an address.</source>
            <translation>Geben Sie einen Befehl oder eine Adresse ein.</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_form.py" />
            <source>Enter a name.</source>
            <translation>Geben Sie einen Namen ein.</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_form.py" />
            <source>Environment</source>
            <translation>Umgebung</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_form.py" />
            <source>Import Servers</source>
            <translation>Server importieren</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_form.py" />
            <source>One variable per line.</source>
            <translation>Eine Variable pro Zeile.</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_form.py" />
            <source>Test the server</source>
            <translation>Server testen</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tool_chips.py" />
            <source>Turn off {name} in this chat</source>
            <translation>{name} in diesem Chat ausschalten</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_button.py" />
            <source>Calls to {server} are sent to {host}.</source>
            <translation>Aufrufe von {server} werden an {host} gesendet.</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_button.py" />
            <source>Messages get the passages of the documents that fit them best.</source>
            <translation>Nachrichten erhalten die am besten passenden Passagen der Dokumente.</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_button.py" />
            <source>The model on {host} can't call tools.</source>
            <translation>Das Modell auf {host} kann keine Werkzeuge aufrufen.</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_button.py" />
            <source>This model can't call tools.</source>
            <translation>Dieses Modell kann keine Werkzeuge aufrufen.</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_button.py" />
            <source>Tool Settings…</source>
            <translation>Werkzeug-Einstellungen …</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_button.py" />
            <source>Tool descriptions use {tokens}.</source>
            <translation>Die Werkzeugbeschreibungen brauchen {tokens}.</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_button.py" />
            <source>Tools in this chat: {servers}</source>
            <translation>Werkzeuge in diesem Chat: {servers}</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_button.py" />
            <source>{count} of {total} tools</source>
            <translation>{count} von {total} Werkzeugen</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_pane.py" />
            <source>Add Server…</source>
            <translation>Server hinzufügen …</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_pane.py" />
            <source>Choose File…</source>
            <translation>Datei wählen …</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_pane.py" />
            <source>Clipboard</source>
            <translation>Zwischenablage</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_pane.py" />
            <source>Import servers from another app</source>
            <translation>Server aus einer anderen App importieren</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_pane.py" />
            <source>Import…</source>
            <translation>Importieren …</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_pane.py" />
            <source>Paste from Clipboard</source>
            <translation>Aus der Zwischenablage einfügen</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_pane.py" />
            <source>Show Calls…</source>
            <translation>Aufrufe anzeigen …</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_pane.py" />
            <source>Show mcp.json</source>
            <translation>mcp.json anzeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_pane.py" />
            <source>Show the folder that contains mcp.json</source>
            <translation>Ordner mit mcp.json anzeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_pane.py" />
            <source>Show the tool calls in all chats</source>
            <translation>Werkzeugaufrufe in allen Chats anzeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_pane.py" />
            <source>With tools, models can calculate, read files, and use other programs. You approve each call.</source>
            <translation>Mit Werkzeugen können Modelle rechnen, Dateien lesen und andere Programme verwenden. Sie genehmigen jeden Aufruf.</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_pane.py" />
            <source>{source} has no new servers.</source>
            <translation>{source} enthält keine neuen Server.</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/attachment_chips.py" />
            <source>Attached: {name}. Show pages</source>
            <translation>Angehängt: {name}. Seiten anzeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/attachment_chips.py" />
            <source>Attached: {name}. Show text</source>
            <translation>Angehängt: {name}. Text anzeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/attachment_chips.py" />
            <source>Cancel reading</source>
            <translation>Auslassen</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/attachment_chips.py" />
            <source>Move Left</source>
            <translation>Nach links bewegen</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/attachment_chips.py" />
            <source>Move Right</source>
            <translation>Nach rechts bewegen</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/attachment_chips.py" />
            <source>Reading {name}…</source>
            <translation>{name} wird gelesen …</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/attachment_chips.py" />
            <source>Show the pages of {name}</source>
            <translation>Seiten von {name} anzeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/attachment_chips.py" />
            <source>Show the text of {name}</source>
            <translation>Den Text von {name} anzeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/attachment_chips.py" />
            <source>Show {name}</source>
            <translation>{name} anzeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/attachment_chips.py" />
            <source>Text of {name}</source>
            <translation>Text von {name}</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/attachment_chips.py" />
            <source>This text is sent to the model with the message.</source>
            <translation>Dieser Text wird mit der Nachricht an das Modell gesendet.</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/attachment_chips.py" />
            <source>page {page} of {count}</source>
            <translation>Seite {page} von {count}</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/attachment_chips.py" />
            <source>pages {first}–{last} of {count}</source>
            <translation>Seiten {first}–{last} von {count}</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/attachment_chips.py" />
            <source>{sent} of {count} pages</source>
            <translation>{sent} von {count} Seiten</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Allow Once</source>
            <translation>Einmal erlauben</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Allow in This Chat</source>
            <translation>In diesem Chat erlauben</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Allow “{tool}” once</source>
            <translation>„{tool}“ einmal erlauben</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Always Allow</source>
            <translation>Immer erlauben</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Cancel the call to “{tool}”</source>
            <translation>Aufruf von „{tool}“ abbrechen</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Copy call</source>
            <translation>Aufruf kopieren</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Denied</source>
            <translation>Abgelehnt</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Deny</source>
            <translation>Ablehnen</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Deny the call to “{tool}”</source>
            <translation>Aufruf von „{tool}“ ablehnen</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Done in {seconds}</source>
            <translation>Fertig in {seconds}</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Hide call to “{tool}”</source>
            <translation>Aufruf von „{tool}“ ausblenden</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>More</source>
            <translation>Mehr</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>More ways to allow “{tool}”</source>
            <translation>Weitere Möglichkeiten, „{tool}“ zu erlauben</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Needs approval</source>
            <translation>Erlaubnis nötig</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Result · The model received only the first {count} characters</source>
            <translation>Ergebnis · Das Modell hat die ersten {count} Zeichen erhalten</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Running…</source>
            <translation>Läuft …</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Show call to “{tool}”</source>
            <translation>Aufruf von „{tool}“ anzeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Status</source>
            <translation>Status</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>This tool has changed since you allowed it.</source>
            <translation>Dieses Werkzeug hat sich geändert, seit Sie es erlaubt haben.</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Tool call: {tool}, {status}</source>
            <translation>Werkzeugaufruf: {tool}, {status}</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Unknown tool</source>
            <translation>Unbekanntes Werkzeug</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/cut_view.py" />
            <source>Discard the changes</source>
            <translation>Änderungen verwerfen</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/cut_view.py" />
            <source>Edit</source>
            <translation>Bearbeiten</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/cut_view.py" />
            <source>Edit the summary</source>
            <translation>Zusammenfassung bearbeiten</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/cut_view.py" />
            <source>Hide summary</source>
            <translation>Zusammenfassung ausblenden</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/cut_view.py" />
            <source>Save the summary</source>
            <translation>Zusammenfassung sichern</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/cut_view.py" />
            <source>Show summary</source>
            <translation>Zusammenfassung einblenden</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/cut_view.py" />
            <source>The context is full, so the model reads nothing above this line.</source>
            <translation>Das Modell liest nichts oberhalb dieser Linie, weil der Kontext voll ist.</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/cut_view.py" />
            <source>The model reads a summary of what is above this line.</source>
            <translation>Das Modell liest eine Zusammenfassung dessen, was oberhalb dieser Linie steht.</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/find_bar.py" />
            <source>Close search</source>
            <translation>Suche schließen</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/find_bar.py" />
            <source>Find in this chat</source>
            <translation>In diesem Chat suchen</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/find_bar.py" />
            <source>Matches</source>
            <translation>Treffer</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/find_bar.py" />
            <source>Next match</source>
            <translation>Nächster Treffer</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/find_bar.py" />
            <source>No matches</source>
            <translation>Keine Treffer</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/find_bar.py" />
            <source>Previous match</source>
            <translation>Vorheriger Treffer</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_focus.py" />
            <source>Copy</source>
            <translation>Kopieren</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_view.py" />
            <source>The Left and Right keys move to its buttons</source>
            <translation>Die Tasten Links und Rechts führen zu den Tasten der Nachricht</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_views.py" />
            <source>Choose a Model…</source>
            <translation>Modell auswählen …</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_views.py" />
            <source>Choose a model</source>
            <translation>Ein Modell auswählen</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_views.py" />
            <source>Copy Message</source>
            <translation>Nachricht kopieren</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_views.py" />
            <source>Edit (keeps this version)</source>
            <translation>Bearbeiten (diese Version bleibt erhalten)</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_views.py" />
            <source>Edit Message</source>
            <translation>Nachricht bearbeiten</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_views.py" />
            <source>Hide thinking</source>
            <translation>Gedanken ausblenden</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_views.py" />
            <source>Reply</source>
            <translation>Antwort</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_views.py" />
            <source>Show All</source>
            <translation>Alles anzeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_views.py" />
            <source>Show the full message</source>
            <translation>Ganze Nachricht anzeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_views.py" />
            <source>Show thinking</source>
            <translation>Gedanken einblenden</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_views.py" />
            <source>Turn On Calculator</source>
            <translation>Rechner einschalten</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_views.py" />
            <source>Turn on the calculator in this chat, and ask again</source>
            <translation>Den Rechner in diesem Chat einschalten und noch einmal fragen</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_views.py" />
            <source>Waiting for the first token</source>
            <translation>Wartet auf das erste Token</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_views.py" />
            <source>Your message</source>
            <translation>Ihre Nachricht</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/read_pages.py" />
            <source>Read:</source>
            <translation>Gelesen:</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Answer this prompt with and without DFlash, side by side</source>
            <translation>Diesen Prompt mit und ohne DFlash beantworten, nebeneinander</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Continue this reply</source>
            <translation>Diese Antwort fortsetzen</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Copy Reply</source>
            <translation>Antwort kopieren</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Copy reply</source>
            <translation>Antwort kopieren</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Details</source>
            <translation>Details</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Details: how this reply was decoded</source>
            <translation>Details: wie diese Antwort dekodiert wurde</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Next version</source>
            <translation>Nächste Version</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Previous version</source>
            <translation>Vorherige Version</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Read Aloud</source>
            <translation>Vorlesen</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Read aloud</source>
            <translation>Vorlesen</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Regenerate</source>
            <translation>Neu erzeugen</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Regenerate (keeps this reply)</source>
            <translation>Neu erzeugen (diese Antwort bleibt erhalten)</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Stop Reading Aloud</source>
            <translation>Vorlesen beenden</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Stop reading aloud</source>
            <translation>Vorlesen beenden</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>This server can't continue a reply.</source>
            <translation>Dieser Server kann eine Antwort nicht fortsetzen.</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Version {place} of {count}</source>
            <translation>Version {place} von {count}</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_charts.py" />
            <source>Drafted (max {highest})</source>
            <translation>Entworfen (max. {highest})</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_charts.py" />
            <source>Drafted and accepted tokens per round</source>
            <translation>Entworfene und angenommene Token pro Runde</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_charts.py" />
            <source>Slower for a known reason</source>
            <translation>Langsamer aus bekanntem Grund</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_charts.py" />
            <source>Speed (max {rate})</source>
            <translation>Geschwindigkeit (max. {rate})</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_charts.py" />
            <source>Speed of the replies in this chat</source>
            <translation>Geschwindigkeit der Antworten in diesem Chat</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_charts.py" />
            <source>{count} processed</source>
            <translation>{count} verarbeitet</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_charts.py" />
            <source>{count} processed at {rate}</source>
            <translation>{count} mit {rate} verarbeitet</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_charts.py" />
            <source>{count} reused</source>
            <translation>{count} wiederverwendet</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_charts.py" />
            <source>{rounds} rounds; {least} to {most} accepted</source>
            <translation>{rounds} Runden; {least} bis {most} angenommen</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/selection.py" />
            <source>Copy Link</source>
            <translation>Link kopieren</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/selection.py" />
            <source>Link</source>
            <translation>Link</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/stats_line.py" />
            <source>Details of this reply</source>
            <translation>Details dieser Antwort</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/stats_line.py" />
            <source>Probabilities of the first {count} tokens, kept until you open another chat</source>
            <translation>Wahrscheinlichkeiten der ersten {count} Token, bis Sie einen anderen Chat öffnen</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/stats_line.py" />
            <source>Reused and processed prompt tokens</source>
            <translation>Wiederverwendete und verarbeitete Prompt-Token</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/stats_line.py" />
            <source>Token probabilities, kept until you open another chat</source>
            <translation>Wahrscheinlichkeiten der Token, bis Sie einen anderen Chat öffnen</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/stats_line.py" />
            <source>Why this reply was slow</source>
            <translation>Warum diese Antwort langsam war</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/token_probabilities.py" />
            <source>Point at a token, or move the cursor to it.</source>
            <translation>Zeigen Sie auf ein Token, oder bewegen Sie den Cursor dorthin.</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/token_probabilities.py" />
            <source>Probability of the token</source>
            <translation>Wahrscheinlichkeit des Tokens</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/token_probabilities.py" />
            <source>Tokens of the reply</source>
            <translation>Token der Antwort</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/token_probabilities.py" />
            <source>line break</source>
            <translation>Zeilenumbruch</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/token_probabilities.py" />
            <source>no text</source>
            <translation>kein Text</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/token_probabilities.py" />
            <source>space</source>
            <translation>Leerzeichen</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/token_probabilities.py" />
            <source>tab</source>
            <translation>Tabulator</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/token_probabilities.py" />
            <source>{token} · Others: {others}</source>
            <translation>{token} · Andere: {others}</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/token_probabilities.py" />
            <source>“{token}” {share}</source>
            <translation>„{token}“ {share}</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/transcript.py" />
            <source>Chat</source>
            <translation>Chat</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/transcript.py" />
            <source>Go to the end</source>
            <translation>Zum Ende</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/transcript.py" />
            <source>New Text ↓</source>
            <translation>Neuer Text ↓</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/unreadable_call.py" />
            <source>Hide text</source>
            <translation>Text ausblenden</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/unreadable_call.py" />
            <source>Show text</source>
            <translation>Text einblenden</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/unreadable_call.py" />
            <source>The model wrote a tool call that can't be read</source>
            <translation>Unlesbarer Werkzeugaufruf des Modells</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>, {bits}-bit</source>
            <translation>, {bits} Bit</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Ask anything</source>
            <translation>Fragen Sie alles</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Ask anything, faster</source>
            <translation>Fragen Sie alles, nur schneller</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Ask: {prompt}</source>
            <translation>Fragen: {prompt}</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Compare shows both speeds side by side.</source>
            <translation>„Vergleichen“ zeigt beide Geschwindigkeiten nebeneinander.</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Connected to {host}</source>
            <translation>Verbunden mit {host}</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>DFlash runs a pair of models: a small one drafts, a large one checks. Same text, faster.</source>
            <translation>DFlash verwendet ein Paar von Modellen: Ein kleines entwirft, ein großes prüft. Derselbe Text, schneller.</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Everything you write stays on this computer.</source>
            <translation>Alles, was Sie schreiben, bleibt auf diesem Computer.</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Explanation</source>
            <translation>Erklärung</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Get a Real Model…</source>
            <translation>Echtes Modell laden …</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>How many divisors does 84 have?</source>
            <translation>Wie viele Teiler hat 84?</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>List</source>
            <translation>Liste</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>List the first 8 square numbers.</source>
            <translation>Nenne die ersten 8 Quadratzahlen.</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Math</source>
            <translation>Mathematik</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Ready (no drafter)</source>
            <translation>Bereit, ohne Drafter</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Recommended for this computer</source>
            <translation>Für diesen Computer empfohlen</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>The demo model understands only English.</source>
            <translation>Das Demo-Modell versteht nur Englisch.</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>The demo pair answers only a few kinds of questions.</source>
            <translation>Das Demo-Paar beantwortet nur wenige Arten von Fragen.</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Tool calls are sent to {hosts}.</source>
            <translation>Werkzeugaufrufe werden an {hosts} gesendet.</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Tool calls are sent to {hosts}. Everything else stays on this computer.</source>
            <translation>Werkzeugaufrufe werden an {hosts} gesendet. Alles andere bleibt auf diesem Computer.</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Try the built-in demo</source>
            <translation>Die eingebaute Demo ausprobieren</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Up to {rate} tok/s without DFlash</source>
            <translation>Bis zu {rate} Token/s ohne DFlash</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>What is 4817 × 392?</source>
            <translation>Wie viel ist 4817 × 392?</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>What is speculative decoding?</source>
            <translation>Was ist spekulatives Dekodieren?</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Write a Python function that checks if a number is prime.</source>
            <translation>Schreibe eine Python-Funktion, die prüft, ob eine Zahl eine Primzahl ist.</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Write the 7 times table up to 10.</source>
            <translation>Schreibe das Einmaleins der 7 bis 10.</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>{low} to {high}× as fast with DFlash on {machine}</source>
            <translation>mit DFlash {low}- bis {high}-mal so schnell auf {machine}</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>About {needed}, for a second copy of the pair ({free} free)</source>
            <translation>Etwa {needed} für eine zweite Kopie des Paars ({free} frei)</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>About {time} left for this part</source>
            <translation>Noch etwa {time} für diesen Abschnitt</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>After</source>
            <translation>Nachher</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Before</source>
            <translation>Vorher</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Change</source>
            <translation>Änderung</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Discard</source>
            <translation>Verwerfen</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Discard This Run?</source>
            <translation>Diesen Durchgang verwerfen?</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Discard…</source>
            <translation>Verwerfen …</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>End and delete this run</source>
            <translation>Diesen Durchgang beenden und löschen</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>General prompts</source>
            <translation>Allgemeine Prompts</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Learn more about tuning</source>
            <translation>Weitere Infos zum Anpassen</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Messages</source>
            <translation>Nachrichten</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Not kept, because tokens per round didn't rise for your messages. The drafter is unchanged.</source>
            <translation>Nicht übernommen, weil die Token pro Runde bei Ihren Nachrichten nicht gestiegen sind. Der Drafter ist unverändert.</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Not kept, because tokens per round fell by more than 1% on general prompts. The drafter is unchanged.</source>
            <translation>Nicht übernommen, weil die Token pro Runde bei allgemeinen Prompts um mehr als 1 % gesunken sind. Der Drafter ist unverändert.</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Pause tuning</source>
            <translation>Anpassung anhalten</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Paused at {share}. Nothing is lost.</source>
            <translation>Bei {share} angehalten. Nichts geht verloren.</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Pausing…</source>
            <translation>Wird angehalten …</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Reload</source>
            <translation>Neu laden</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Reload the pair</source>
            <translation>Das Paar neu laden</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Reload the pair to use the tuned drafter.</source>
            <translation>Laden Sie das Paar neu, um den angepassten Drafter zu verwenden.</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Remove the Tuned Drafter?</source>
            <translation>Angepassten Drafter entfernen?</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Remove the tuned drafter</source>
            <translation>Den angepassten Drafter entfernen</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Shown after the first steps</source>
            <translation>Wird nach den ersten Schritten angezeigt</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>The drafter will be used as it was published. You can tune it again at any time.</source>
            <translation>Der Drafter wird wieder so verwendet, wie er veröffentlicht wurde. Sie können ihn jederzeit erneut anpassen.</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>The pair will be reloaded when the reply ends.</source>
            <translation>Das Paar wird neu geladen, sobald die Antwort endet.</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>The tuned drafter was removed. Reload the pair to stop using it.</source>
            <translation>Der angepasste Drafter wurde entfernt. Laden Sie das Paar neu, damit er nicht mehr verwendet wird.</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Time</source>
            <translation>Dauer</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Tokens per round</source>
            <translation>Token pro Runde</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Tune Again</source>
            <translation>Erneut anpassen</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Tune Drafter</source>
            <translation>Drafter anpassen</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Tuned on {date}. The tuned drafter is in use.</source>
            <translation>Angepasst am {date}. Der angepasste Drafter wird verwendet.</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Tuning adapts the drafter to this model and to your messages. The text of replies never changes, only their speed. It runs in the background with low priority. Replies are slower while it runs.</source>
            <translation>Passt den Drafter an dieses Modell und an Ihre Nachrichten an. Der Text von Antworten ändert sich nie, nur ihre Geschwindigkeit. Die Anpassung läuft mit niedriger Priorität im Hintergrund. Antworten sind währenddessen langsamer.</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Tuning has ended.</source>
            <translation>Die Anpassung ist beendet.</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Tuning progress</source>
            <translation>Fortschritt der Anpassung</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Up to {needed}, until tuning ends ({free} free)</source>
            <translation>Bis zu {needed}, bis die Anpassung endet ({free} frei)</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>What was generated and learned so far will be deleted. To continue later, choose Pause instead.</source>
            <translation>Was bisher erzeugt und gelernt wurde, wird gelöscht. Um später fortzufahren, wählen Sie stattdessen „Anhalten“.</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Your messages</source>
            <translation>Ihre Nachrichten</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>{count} from {chats}, and {general} general ones. Private chats are left out.</source>
            <translation>{count} aus {chats} und {general} allgemeine. Private Chats werden ausgelassen.</translation>
        </message>
        <message>
            <location filename="../../app/widgets/browser.py" />
            <source>Can't open a browser. Set a default browser in the system's settings, or copy the link.</source>
            <translation>Kein Browser lässt sich öffnen. Legen Sie in den Systemeinstellungen einen Standardbrowser fest, oder kopieren Sie den Link.</translation>
        </message>
        <message>
            <location filename="../../app/widgets/comparison_table.py" />
            <source>Fastest</source>
            <translation>Am schnellsten</translation>
        </message>
        <message>
            <location filename="../../app/widgets/comparison_table.py" />
            <source>{mode} speed</source>
            <translation>Geschwindigkeit: {mode}</translation>
        </message>
        <message>
            <location filename="../../app/widgets/controls.py" />
            <source>Copied</source>
            <translation>Kopiert</translation>
        </message>
        <message>
            <location filename="../../app/widgets/pairs_field.py" />
            <source>“{line}” needs a name, “{mark}”, and a value.</source>
            <translation>„{line}“ braucht einen Namen, „{mark}“ und einen Wert.</translation>
        </message>
        <message>
            <location filename="../../app/widgets/picture_loader.py" />
            <source>Can't show “{name}”.</source>
            <translation>„{name}“ kann nicht angezeigt werden.</translation>
        </message>
        <message>
            <location filename="../../app/widgets/picture_loader.py" />
            <source>Image: {name}</source>
            <translation>Bild: {name}</translation>
        </message>
        <message>
            <location filename="../../app/widgets/picture_loader.py" />
            <source>Missing</source>
            <translation>Fehlt</translation>
        </message>
        <message>
            <location filename="../../app/widgets/picture_loader.py" />
            <source>Page {number} of {name}</source>
            <translation>Seite {number} von {name}</translation>
        </message>
        <message>
            <location filename="../../app/widgets/picture_loader.py" />
            <source>first frame only</source>
            <translation>nur erstes Bild</translation>
        </message>
        <message>
            <location filename="../../app/widgets/picture_tile.py" />
            <source>“{name}” is missing</source>
            <translation>„{name}“ fehlt</translation>
        </message>
        <message>
            <location filename="../../app/widgets/save_dialog.py" />
            <source>Replace</source>
            <translation>Ersetzen</translation>
        </message>
        <message>
            <location filename="../../app/widgets/save_dialog.py" />
            <source>Replace File?</source>
            <translation>Datei ersetzen?</translation>
        </message>
        <message>
            <location filename="../../app/widgets/save_dialog.py" />
            <source>“{name}” already exists. Do you want to replace it?</source>
            <translation>„{name}“ existiert bereits. Möchten Sie die Datei ersetzen?</translation>
        </message>
        <message>
            <location filename="../../app/widgets/secret_texts.py" />
            <source>Kept only until you quit, because no keychain is available.</source>
            <translation>Wird nur bis zum Beenden behalten, weil kein Schlüsselbund verfügbar ist.</translation>
        </message>
        <message>
            <location filename="../../app/widgets/secret_texts.py" />
            <source>Secrets are kept only until you quit, because no keychain is available.</source>
            <translation>Geheimnisse werden nur bis zum Beenden behalten, weil kein Schlüsselbund verfügbar ist.</translation>
        </message>
        <message>
            <location filename="../../app/widgets/secret_texts.py" />
            <source>Secrets are stored in the keychain.</source>
            <translation>Geheimnisse werden im Schlüsselbund gespeichert.</translation>
        </message>
        <message>
            <location filename="../../app/widgets/secret_texts.py" />
            <source>Stored in the keychain.</source>
            <translation>Im Schlüsselbund gesichert.</translation>
        </message>
        <message>
            <location filename="../../app/widgets/send_button.py" />
            <source>Stop (Esc)</source>
            <translation>Stopp (Esc)</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>&amp;Attach Files…</source>
            <translation>Dateien an&amp;hängen …</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>&amp;Export Chat…</source>
            <translation>Chat &amp;exportieren …</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>&amp;Export {count} Chats…</source>
            <translation>{count} Chats &amp;exportieren …</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>&amp;Import Chats…</source>
            <translation>Chats &amp;importieren …</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>&amp;Print…</source>
            <translation>&amp;Drucken …</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>All {count} chats will be deleted, including the archived ones ({archived}).</source>
            <translation>Alle {count} Chats werden gelöscht, auch die archivierten ({archived}).</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>All {count} chats will be deleted.</source>
            <translation>Alle {count} Chats werden gelöscht.</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Attach Files</source>
            <translation>Dateien anhängen</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Chats (*.json *.jsonl *.zip *.db);;All files (*)</source>
            <translation>Chats (*.json *.jsonl *.zip *.db);;Alle Dateien (*)</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Delete A&amp;ll Chats…</source>
            <translation>&amp;Alle Chats löschen …</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Delete All</source>
            <translation>Alle löschen</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Delete All Chats?</source>
            <translation>Alle Chats löschen?</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Export A&amp;ll Chats…</source>
            <translation>&amp;Alle Chats exportieren …</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Export All Chats</source>
            <translation>Alle Chats exportieren</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Export Chat</source>
            <translation>Chat exportieren</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Export Chats</source>
            <translation>Chats exportieren</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Export Pro&amp;ject…</source>
            <translation>Pro&amp;jekt exportieren …</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Export Project</source>
            <translation>Projekt exportieren</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Images ({patterns})</source>
            <translation>Bilder ({patterns})</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Images, PDF, text, and code (*)</source>
            <translation>Bilder, PDF, Text und Code (*)</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Import Chats</source>
            <translation>Chats importieren</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Import Chats from Folde&amp;r…</source>
            <translation>Chats aus O&amp;rdner importieren …</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>JSON for later import (*.json)</source>
            <translation>JSON zum späteren Importieren (*.json)</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>JSON, with all versions (*.json)</source>
            <translation>JSON, mit allen Zweigen (*.json)</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Markdown (*.md)</source>
            <translation>Markdown (*.md)</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>PDF (*.pdf)</source>
            <translation>PDF (*.pdf)</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Print</source>
            <translation>Drucken</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Project</source>
            <translation>Projekt</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Projects are kept.</source>
            <translation>Projekte bleiben erhalten.</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Slipstream chats</source>
            <translation>Slipstream-Chats</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>You can undo this until you quit Slipstream.</source>
            <translation>Bis zum Beenden von Slipstream lässt sich das rückgängig machen.</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>A small model drafts tokens, and the large one checks them. The output is exactly the large model's.</source>
            <translation>Ein kleines Modell entwirft Token, und das große prüft sie. Der Text ist genau der des großen Modells.</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>About Slipstream</source>
            <translation>Über Slipstream</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>All settings</source>
            <translation>Alle Einstellungen</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>All settings will return to their defaults. Chats, presets, models, connections, tool servers, and the hub token are kept.</source>
            <translation>Alle Einstellungen werden auf ihre Standardwerte zurückgesetzt. Chats, Voreinstellungen, Modelle, Verbindungen, Werkzeugserver und das Hub-Token bleiben erhalten.</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Can't open the log folder “{folder}”.</source>
            <translation>Der Protokollordner „{folder}“ kann nicht geöffnet werden.</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Chats, presets, models, connections, tool servers, and the hub token are kept.</source>
            <translation>Chats, Voreinstellungen, Modelle, Verbindungen, Werkzeugserver und das Hub-Token bleiben erhalten.</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Collects version and system information without sending it.</source>
            <translation>Sammelt Versions- und Systeminformationen, ohne sie zu senden.</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Development build</source>
            <translation>Entwicklungsversion</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Learn more about privacy</source>
            <translation>Weitere Infos zum Datenschutz</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Licenses</source>
            <translation>Lizenzen</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Logs</source>
            <translation>Protokolle</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Logs don't contain messages from your chats.</source>
            <translation>Protokolle enthalten keine Nachrichten aus Ihren Chats.</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Report a Problem…</source>
            <translation>Problem melden …</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Reset All Settings?</source>
            <translation>Alle Einstellungen zurücksetzen?</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Reset all settings</source>
            <translation>Alle Einstellungen zurücksetzen</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Reset…</source>
            <translation>Zurücksetzen …</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Show Logs</source>
            <translation>Protokolle anzeigen</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Slipstream is now version {version}.</source>
            <translation>Slipstream hat jetzt die Version {version}.</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Support</source>
            <translation>Support</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>This page isn't among the documents any more.</source>
            <translation>Diese Seite ist nicht mehr unter den Dokumenten.</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Tuning {name} has ended, and its drafter is unchanged.</source>
            <translation>Die Anpassung von {name} ist beendet. Der Drafter ist unverändert.</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Tuning {name} is paused at {share}. To continue, choose File ▸ Tune Drafter.</source>
            <translation>Die Anpassung von {name} ist bei {share} angehalten. Wählen Sie „Ablage“ ▸ „Drafter anpassen“, um fortzufahren.</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Tuning {name} stopped: {reason}</source>
            <translation>Die Anpassung von {name} wurde beendet: {reason}</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Used for new chats.</source>
            <translation>Wird für neue Chats verwendet.</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Version {version}</source>
            <translation>Version {version}</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>What's New</source>
            <translation>Neuerungen</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Your chats stay on this computer unless you connect to a server. Slipstream uses the network only to find and download models, to connect to servers and tools that you choose, and to check for updates if you turn that on.</source>
            <translation>Ihre Chats bleiben auf diesem Computer, außer wenn Sie sich mit einem Server verbinden. Slipstream nutzt das Netzwerk nur, um Modelle zu finden und zu laden, um sich mit Servern und Werkzeugen zu verbinden, die Sie wählen, und um nach Updates zu suchen, wenn Sie das einschalten.</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>{name} has been downloaded. Choose File ▸ Models to use it.</source>
            <translation>{name} wurde heruntergeladen. Wählen Sie „Ablage“ ▸ „Modelle“, um das Paar zu verwenden.</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>{name} has been tuned. Choose File ▸ Tune Drafter to see the result.</source>
            <translation>{name} wurde angepasst. Wählen Sie „Ablage“ ▸ „Drafter anpassen“, um das Ergebnis zu sehen.</translation>
        </message>
        <message>
            <location filename="../../app/window/help.py" />
            <source>Fit into the window, or actual size</source>
            <translation>An Fenster anpassen oder Originalgröße</translation>
        </message>
        <message>
            <location filename="../../app/window/help.py" />
            <source>For developers</source>
            <translation>Für Entwickler</translation>
        </message>
        <message>
            <location filename="../../app/window/help.py" />
            <source>Keyboard Shortcuts</source>
            <translation>Tastaturkurzbefehle</translation>
        </message>
        <message>
            <location filename="../../app/window/help.py" />
            <source>Move an attachment to the left or right</source>
            <translation>Anhang nach links oder rechts bewegen</translation>
        </message>
        <message>
            <location filename="../../app/window/help.py" />
            <source>Page</source>
            <translation>Seite</translation>
        </message>
        <message>
            <location filename="../../app/window/help.py" />
            <source>Previous or next image</source>
            <translation>Vorheriges oder nächstes Bild</translation>
        </message>
        <message>
            <location filename="../../app/window/help.py" />
            <source>Remove an attachment</source>
            <translation>Anhang entfernen</translation>
        </message>
        <message>
            <location filename="../../app/window/help.py" />
            <source>Search help</source>
            <translation>Hilfe durchsuchen</translation>
        </message>
        <message>
            <location filename="../../app/window/help.py" />
            <source>Slipstream Help</source>
            <translation>Slipstream-Hilfe</translation>
        </message>
        <message>
            <location filename="../../app/window/help.py" />
            <source>Zoom in or out</source>
            <translation>Vergrößern oder verkleinern</translation>
        </message>
        <message>
            <location filename="../../app/window/main_window.py" />
            <source>&amp;Appearance</source>
            <translation>&amp;Erscheinungsbild</translation>
        </message>
        <message>
            <location filename="../../app/window/main_window.py" />
            <source>&amp;Contrast</source>
            <translation>&amp;Kontrast</translation>
        </message>
        <message>
            <location filename="../../app/window/main_window.py" />
            <source>1 program is using the server.</source>
            <translation>1 Programm nutzt den Server.</translation>
        </message>
        <message>
            <location filename="../../app/window/main_window.py" />
            <source>If you quit now, all replies will stop.</source>
            <translation>Wenn Sie jetzt beenden, werden alle Antworten abgebrochen.</translation>
        </message>
        <message>
            <location filename="../../app/window/main_window.py" />
            <source>If you quit now, the latest changes of settings will be lost.</source>
            <translation>Wenn Sie jetzt beenden, gehen die letzten Änderungen der Einstellungen verloren.</translation>
        </message>
        <message>
            <location filename="../../app/window/main_window.py" />
            <source>Quit Anyway</source>
            <translation>Trotzdem beenden</translation>
        </message>
        <message>
            <location filename="../../app/window/main_window.py" />
            <source>Quit Slipstream?</source>
            <translation>Slipstream beenden?</translation>
        </message>
        <message>
            <location filename="../../app/window/main_window.py" />
            <source>Quit Without Saving?</source>
            <translation>Ohne Sichern beenden?</translation>
        </message>
        <message>
            <location filename="../../app/window/main_window.py" />
            <source>Show Slipstream</source>
            <translation>Slipstream anzeigen</translation>
        </message>
        <message>
            <location filename="../../app/window/main_window.py" />
            <source>The message for a new chat can't be saved. If you quit now, it will be lost.</source>
            <translation>Die Nachricht für einen neuen Chat kann nicht gesichert werden. Wenn Sie jetzt beenden, geht sie verloren.</translation>
        </message>
        <message>
            <location filename="../../app/window/main_window.py" />
            <source>{count} chats can't be saved. If you quit now, their latest changes will be lost.</source>
            <translation>{count} Chats können nicht gesichert werden. Wenn Sie jetzt beenden, gehen die letzten Änderungen verloren.</translation>
        </message>
        <message>
            <location filename="../../app/window/main_window.py" />
            <source>{count} programs are using the server.</source>
            <translation>{count} Programme nutzen den Server.</translation>
        </message>
        <message>
            <location filename="../../app/window/main_window.py" />
            <source>“{title}” can't be saved. If you quit now, its latest changes will be lost.</source>
            <translation>„{title}“ kann nicht gesichert werden. Wenn Sie jetzt beenden, gehen die letzten Änderungen verloren.</translation>
        </message>
        <message>
            <location filename="../../app/window/menus.py" />
            <source>&amp;Chat</source>
            <translation>&amp;Chat</translation>
        </message>
        <message>
            <location filename="../../app/window/menus.py" />
            <source>&amp;Edit</source>
            <translation>&amp;Bearbeiten</translation>
        </message>
        <message>
            <location filename="../../app/window/menus.py" />
            <source>&amp;File</source>
            <translation>&amp;Ablage</translation>
        </message>
        <message>
            <location filename="../../app/window/menus.py" />
            <source>&amp;Help</source>
            <translation>&amp;Hilfe</translation>
        </message>
        <message>
            <location filename="../../app/window/menus.py" />
            <source>&amp;View</source>
            <translation>&amp;Darstellung</translation>
        </message>
        <message>
            <location filename="../../app/window/menus.py" />
            <source>&amp;Window</source>
            <translation>&amp;Fenster</translation>
        </message>
        <message>
            <location filename="../../app/window/outside_text.py" />
            <source>The chat of this link isn't here. It was deleted, or it is on another computer.</source>
            <translation>Der Chat dieses Links ist nicht hier. Er wurde gelöscht oder ist auf einem anderen Computer.</translation>
        </message>
        <message>
            <location filename="../../app/window/outside_text.py" />
            <source>This text comes from another app. Read it before you send it.</source>
            <translation>Dieser Text stammt aus einer anderen App. Lesen Sie ihn, bevor Sie ihn senden.</translation>
        </message>
        <message>
            <location filename="../../app/window/palette.py" />
            <source>Command Palette</source>
            <translation>Befehlspalette</translation>
        </message>
        <message>
            <location filename="../../app/window/palette.py" />
            <source>Command palette</source>
            <translation>Befehlspalette</translation>
        </message>
        <message>
            <location filename="../../app/window/palette.py" />
            <source>Commands</source>
            <translation>Befehle</translation>
        </message>
        <message>
            <location filename="../../app/window/palette.py" />
            <source>Search commands, chats, and presets</source>
            <translation>Befehle, Chats und Voreinstellungen suchen</translation>
        </message>
        <message>
            <location filename="../../app/window/quick_entry.py" />
            <source>Can't use {shortcut} as a shortcut. Choose another one in Settings.</source>
            <translation>{shortcut} kann nicht als Kurzbefehl verwendet werden. Wählen Sie in den Einstellungen einen anderen.</translation>
        </message>
        <message>
            <location filename="../../app/window/quick_entry.py" />
            <source>Quic&amp;k Chat</source>
            <translation>Schne&amp;llchat</translation>
        </message>
        <message>
            <location filename="../../app/window/reading_aloud.py" />
            <source>Read Last Reply Al&amp;oud</source>
            <translation>Letzte Antwort v&amp;orlesen</translation>
        </message>
        <message>
            <location filename="../../app/window/reading_aloud.py" />
            <source>Stop Readin&amp;g Aloud</source>
            <translation>Vorlesen &amp;beenden</translation>
        </message>
        <message>
            <location filename="../../app/window/report.py" />
            <source>Can't save the report: {reason}. Choose another location.</source>
            <translation>Der Bericht kann nicht gesichert werden: {reason}. Wählen Sie einen anderen Ort.</translation>
        </message>
        <message>
            <location filename="../../app/window/report.py" />
            <source>Copy the report</source>
            <translation>Bericht kopieren</translation>
        </message>
        <message>
            <location filename="../../app/window/report.py" />
            <source>Report</source>
            <translation>Bericht</translation>
        </message>
        <message>
            <location filename="../../app/window/report.py" />
            <source>Report a Problem</source>
            <translation>Problem melden</translation>
        </message>
        <message>
            <location filename="../../app/window/report.py" />
            <source>Save the report</source>
            <translation>Bericht sichern</translation>
        </message>
        <message>
            <location filename="../../app/window/report.py" />
            <source>Save…</source>
            <translation>Sichern …</translation>
        </message>
        <message>
            <location filename="../../app/window/report.py" />
            <source>Text (*.txt)</source>
            <translation>Text (*.txt)</translation>
        </message>
        <message>
            <location filename="../../app/window/report.py" />
            <source>This report isn't sent automatically. Review it, then attach it to your bug report.</source>
            <translation>Slipstream sendet diesen Bericht nicht: Prüfen Sie ihn und hängen Sie ihn an Ihre Fehlermeldung an.</translation>
        </message>
        <message>
            <location filename="../../app/window/screenshot.py" />
            <source>Can't take a screenshot. Press Shift-Command-4, then attach the file.</source>
            <translation>Bildschirmfoto nicht möglich. Drücken Sie Umschalt-Befehl-4 und hängen Sie dann die Datei an.</translation>
        </message>
        <message>
            <location filename="../../app/window/screenshot.py" />
            <source>Screenshot</source>
            <translation>Bildschirmfoto</translation>
        </message>
        <message>
            <location filename="../../app/window/screenshot.py" />
            <source>Take &amp;Screenshot…</source>
            <translation>Bildschirm&amp;foto aufnehmen …</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Answer the last prompt with and without DFlash, side by side</source>
            <translation>Den letzten Prompt mit und ohne DFlash nebeneinander beantworten</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Can't be turned off: {why}</source>
            <translation>Kann nicht ausgeschaltet werden: {why}</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Can't see images: {why}</source>
            <translation>Sieht keine Bilder: {why}</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Chat settings</source>
            <translation>Chat-Einstellungen</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Compare both modes on the last prompt</source>
            <translation>Beide Modi am letzten Prompt vergleichen</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Context: {count} tokens</source>
            <translation>Kontext: {count} Token</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Drafter: {name} ({size})</source>
            <translation>Drafter: {name} ({size})</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Let the server draft tokens, starting with the next reply</source>
            <translation>Den Server ab der nächsten Antwort Token entwerfen lassen</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Model: {name}</source>
            <translation>Modell: {name}</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Models: {pair_name}</source>
            <translation>Modelle: {pair_name}</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Next reply: {mode}</source>
            <translation>Nächste Antwort: {mode}</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Offline is on. Open Settings</source>
            <translation>„Offline“ ist eingeschaltet. Einstellungen öffnen</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Project “{name}”. Open its settings</source>
            <translation>Projekt „{name}“. Einstellungen öffnen</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Project: {name}</source>
            <translation>Projekt: {name}</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Server: {host}</source>
            <translation>Server: {host}</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Server: {host} ({program})</source>
            <translation>Server: {host} ({program})</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Show or hide the sidebar</source>
            <translation>Seitenleiste ein- oder ausblenden</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Slipstream connects to no other computer. Servers on this computer can be used.</source>
            <translation>Slipstream verbindet sich mit keinem anderen Computer. Server auf diesem Computer lassen sich verwenden.</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Speculative decoding: {method}</source>
            <translation>Spekulatives Dekodieren: {method}</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Target: {name} ({size})</source>
            <translation>Zielmodell: {name} ({size})</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>The local server is on</source>
            <translation>Der lokale Server ist eingeschaltet</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Use the small model to speed up the large one, starting with the next reply</source>
            <translation>Das kleine Modell nutzen, um das große zu beschleunigen, ab der nächsten Antwort</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>{name} on {count} Macs</source>
            <translation>{name} auf {count} Macs</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Check for Updates…</source>
            <translation>Nach &amp;Updates suchen …</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Close Window</source>
            <translation>Fenster s&amp;chließen</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Copy</source>
            <translation>&amp;Kopieren</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Find in Chat…</source>
            <translation>Im Chat &amp;suchen …</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Go to Message Field</source>
            <translation>Zum &amp;Nachrichtenfeld</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Keyboard Shortcuts</source>
            <translation>&amp;Tastaturkurzbefehle</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Larger Text</source>
            <translation>&amp;Größerer Text</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Local Server</source>
            <translation>&amp;Lokaler Server</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Minimize</source>
            <translation>&amp;Minimieren</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Models…</source>
            <translation>&amp;Modelle …</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Paste</source>
            <translation>&amp;Einsetzen</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Quiet Mode</source>
            <translation>Leiser &amp;Modus</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Quit Slipstream</source>
            <translation>Slipstream &amp;beenden</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Redo</source>
            <translation>Wieder&amp;holen</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Report a Problem…</source>
            <translation>Problem &amp;melden …</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Search All Chats</source>
            <translation>Alle &amp;Chats durchsuchen</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Tools…</source>
            <translation>&amp;Werkzeuge …</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Undo</source>
            <translation>&amp;Widerrufen</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;User Guide</source>
            <translation>&amp;Benutzerhandbuch</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Zoom</source>
            <translation>&amp;Zoomen</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Actual Si&amp;ze</source>
            <translation>Originalgrö&amp;ße</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Chat Settin&amp;gs…</source>
            <translation>Chat-E&amp;instellungen …</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Check for Updates &amp;at Launch</source>
            <translation>Beim &amp;Start nach Updates suchen</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Command &amp;Palette…</source>
            <translation>&amp;Befehlspalette …</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Comp&amp;are Prompt…</source>
            <translation>&amp;Prompt vergleichen …</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Cu&amp;t</source>
            <translation>&amp;Ausschneiden</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Find Ne&amp;xt</source>
            <translation>Wei&amp;tersuchen</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Find Pre&amp;vious</source>
            <translation>&amp;Vorheriges suchen</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Go to Chat L&amp;ist</source>
            <translation>Zur &amp;Chatliste</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Ne&amp;w Chat in Project</source>
            <translation>Ne&amp;uer Chat im Projekt</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Ne&amp;w Chat in “{project}”</source>
            <translation>Ne&amp;uer Chat in „{project}“</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Next &amp;Link</source>
            <translation>&amp;Nächster Link</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Previous Lin&amp;k</source>
            <translation>Vorhe&amp;riger Link</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Pro&amp;ject Settings…</source>
            <translation>Pro&amp;jekteinstellungen …</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>S&amp;maller Text</source>
            <translation>K&amp;leinerer Text</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Scroll to &amp;End</source>
            <translation>Zum En&amp;de scrollen</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Select &amp;All</source>
            <translation>A&amp;lles auswählen</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Show &amp;Logs</source>
            <translation>&amp;Protokolle anzeigen</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Show &amp;Sidebar</source>
            <translation>&amp;Seitenleiste einblenden</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Show To&amp;ken Sources</source>
            <translation>&amp;Token-Quellen einblenden</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Tool Calls…</source>
            <translation>Werkzeugaufrufe …</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Tune &amp;Drafter…</source>
            <translation>Drafter anpa&amp;ssen …</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>What's &amp;New</source>
            <translation>&amp;Neuerungen</translation>
        </message>
    </context>
    <context>
        <name>Engine</name>
        <message>
            <location filename="../../app/session/local_server.py" />
            <source>internal</source>
            <extracomment>Something went wrong in Slipstream. Details are in {log_file}.</extracomment>
            <translation>In Slipstream ist ein Fehler aufgetreten. Einzelheiten stehen in {log_file}.</translation>
        </message>
        <message>
            <location filename="../../app/session/local_server.py" />
            <source>pair_in_use</source>
            <extracomment>The Slipstream window is using the loaded pair. Try again when it has finished.</extracomment>
            <translation>Das Slipstream-Fenster verwendet das geladene Paar. Versuchen Sie es noch einmal, wenn es fertig ist.</translation>
        </message>
        <message>
            <location filename="../../app/session/local_server.py" />
            <source>pair_loading</source>
            <extracomment>Another pair is loading. Try again in a moment.</extracomment>
            <translation>Ein anderes Paar wird gerade geladen. Versuchen Sie es gleich noch einmal.</translation>
        </message>
        <message>
            <location filename="../../app/session/updates.py" />
            <source>update_failed</source>
            <extracomment>Can't check for updates: {error}.</extracomment>
            <translation>Nach Updates kann nicht gesucht werden: {error}.</translation>
        </message>
        <message>
            <location filename="../../app/storage/attached_files.py" />
            <source>attachment_empty</source>
            <extracomment>“{name}” is empty.</extracomment>
            <translation>„{name}“ ist leer.</translation>
        </message>
        <message>
            <location filename="../../app/storage/attached_files.py" />
            <source>attachment_is_folder</source>
            <extracomment>“{name}” is a folder. Attach the files in it instead.</extracomment>
            <translation>„{name}“ ist ein Ordner. Hängen Sie stattdessen die Dateien darin an.</translation>
        </message>
        <message>
            <location filename="../../app/storage/attached_files.py" />
            <source>attachment_not_a_file</source>
            <extracomment>Can't attach “{name}”: it isn't a regular file.</extracomment>
            <translation>„{name}“ kann nicht angehängt werden: Es ist keine normale Datei.</translation>
        </message>
        <message>
            <location filename="../../app/storage/attached_files.py" />
            <source>attachment_not_text</source>
            <extracomment>“{name}” contains no readable text. Attach an image, a PDF, or a text, Markdown, or code file.</extracomment>
            <translation>„{name}“ enthält keinen lesbaren Text. Hängen Sie ein Bild, eine PDF-, Text-, Markdown- oder Codedatei an.</translation>
        </message>
        <message>
            <location filename="../../app/storage/attached_files.py" />
            <source>attachment_too_large</source>
            <extracomment>“{name}” is too large ({size}). Text files can be up to {text_limit}, PDFs up to {pdf_limit}, images up to {image_limit}.</extracomment>
            <translation>„{name}“ ist zu groß ({size}). Textdateien dürfen bis zu {text_limit} groß sein, PDFs bis zu {pdf_limit}, Bilder bis zu {image_limit}.</translation>
        </message>
        <message>
            <location filename="../../app/storage/attached_files.py" />
            <source>pdf_blank</source>
            <extracomment>All pages of “{name}” are blank.</extracomment>
            <translation>Alle Seiten von „{name}“ sind leer.</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_export.py" />
            <source>export_too_large</source>
            <extracomment>The chats have {size} of images and PDFs, too much for one file. Export fewer chats at a time.</extracomment>
            <translation>Die Chats enthalten {size} an Bildern und PDFs, zu viel für eine Datei. Exportieren Sie weniger Chats auf einmal.</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_export.py" />
            <source>nothing_to_export</source>
            <extracomment>No chats to export.</extracomment>
            <translation>Es gibt keine Chats zu exportieren.</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>import_all_damaged</source>
            <extracomment>None of the chats in “{name}” can be read.</extracomment>
            <translation>Kein Chat in „{name}“ kann gelesen werden.</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>import_archive_damaged</source>
            <extracomment>The archive “{name}” is damaged. Download it again.</extracomment>
            <translation>Das Archiv „{name}“ ist beschädigt. Laden Sie es erneut.</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>import_archive_locked</source>
            <extracomment>Can't unpack “{name}”. Unpack it with another app, then import conversations.json.</extracomment>
            <translation>„{name}“ kann nicht entpackt werden. Entpacken Sie das Archiv mit einer anderen App und importieren Sie dann conversations.json.</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>import_failed</source>
            <extracomment>Can't import “{name}”. {reason}</extracomment>
            <translation>„{name}“ kann nicht importiert werden. {reason}</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>import_no_chats</source>
            <extracomment>“{name}” contains no chats. Choose a file with chats of Slipstream, ChatGPT, Claude, LM Studio, Jan, or Open WebUI.</extracomment>
            <translation>„{name}“ enthält keine Chats. Wählen Sie eine Datei mit Chats von Slipstream, ChatGPT, Claude, LM Studio, Jan oder Open WebUI.</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>import_no_list</source>
            <extracomment>“{name}” is damaged: it has no list of chats.</extracomment>
            <translation>„{name}“ ist beschädigt: Die Datei enthält keine Liste von Chats.</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>import_none_readable</source>
            <extracomment>None of the {count} files can be imported. {reason}</extracomment>
            <translation>Keine der {count} Dateien kann importiert werden. {reason}</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>import_not_json</source>
            <extracomment>“{name}” isn't a valid JSON file. Choose a file with chats of Slipstream, ChatGPT, Claude, LM Studio, Jan, or Open WebUI.</extracomment>
            <translation>„{name}“ ist keine gültige JSON-Datei. Wählen Sie eine Datei mit Chats von Slipstream, ChatGPT, Claude, LM Studio, Jan oder Open WebUI.</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>import_not_saved</source>
            <extracomment>Can't save the chats from “{name}”: {reason}.</extracomment>
            <translation>Die Chats aus „{name}“ können nicht gesichert werden: {reason}.</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>import_too_large</source>
            <extracomment>“{name}” is too large. Choose the JSON file inside the export.</extracomment>
            <translation>„{name}“ ist zu groß. Wählen Sie die JSON-Datei im Export.</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>import_wrong_archive</source>
            <extracomment>“{name}” contains no conversations.json. Choose an archive exported from ChatGPT or Claude.</extracomment>
            <translation>„{name}“ enthält keine conversations.json. Wählen Sie ein aus ChatGPT oder Claude exportiertes Archiv.</translation>
        </message>
        <message>
            <location filename="../../app/storage/imported_messages.py" />
            <source>chat_not_a_tree</source>
            <extracomment>The chat “{title}” is damaged: its messages are inconsistent.</extracomment>
            <translation>Der Chat „{title}“ ist beschädigt: Seine Nachrichten passen nicht zusammen.</translation>
        </message>
        <message>
            <location filename="../../app/storage/jan_import.py" />
            <source>jan_thread_damaged</source>
            <extracomment>The thread in “{folder}” is damaged.</extracomment>
            <translation>Der Thread in „{folder}“ ist beschädigt.</translation>
        </message>
        <message>
            <location filename="../../app/storage/records.py" />
            <source>not_a_chat</source>
            <extracomment>The file contains an item that isn't a Slipstream chat.</extracomment>
            <translation>Die Datei enthält etwas, das kein Slipstream-Chat ist.</translation>
        </message>
        <message>
            <location filename="../../app/storage/records.py" />
            <source>not_a_message</source>
            <extracomment>The file contains a message without an ID or a valid role.</extracomment>
            <translation>Die Datei enthält eine Nachricht ohne Kennung oder gültige Rolle.</translation>
        </message>
        <message>
            <location filename="../../app/storage/salvage.py" />
            <source>import_database_damaged</source>
            <extracomment>Can't import “{name}”: it is damaged ({reason}).</extracomment>
            <translation>„{name}“ kann nicht importiert werden: Die Datei ist beschädigt ({reason}).</translation>
        </message>
        <message>
            <location filename="../../app/storage/salvage.py" />
            <source>import_foreign_database</source>
            <extracomment>“{name}” isn't a Slipstream database.</extracomment>
            <translation>„{name}“ ist keine Slipstream-Datenbank.</translation>
        </message>
        <message>
            <location filename="../../app/storage/salvage.py" />
            <source>import_newer</source>
            <extracomment>“{name}” was saved by a newer version of Slipstream. Update Slipstream, then import it again.</extracomment>
            <translation>„{name}“ wurde von einem neueren Slipstream geschrieben. Aktualisieren Sie Slipstream und importieren Sie die Datei dann erneut.</translation>
        </message>
        <message>
            <location filename="../../app/storage/salvage.py" />
            <source>import_nothing_left</source>
            <extracomment>“{name}” is damaged, and no chat in it can be read.</extracomment>
            <translation>„{name}“ ist beschädigt, und kein Chat darin kann gelesen werden.</translation>
        </message>
        <message>
            <location filename="../../app/system/chat_link.py" />
            <source>chat_link</source>
            <extracomment>Slipstream can't open this link. Links to Slipstream have the form {form}.</extracomment>
            <translation>Slipstream kann diesen Link nicht öffnen. Links zu Slipstream haben die Form {form}.</translation>
        </message>
        <message>
            <location filename="../../app/system/chat_link.py" />
            <source>chat_link_too_long</source>
            <extracomment>The text of this link is too long. Copy the text instead, and paste it into a new chat.</extracomment>
            <translation>Der Text dieses Links ist zu lang. Kopieren Sie stattdessen den Text, und fügen Sie ihn in einen neuen Chat ein.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/api_server/listener.py" />
            <source>cannot_listen</source>
            <extracomment>Can't listen on “{host}”: {reason}. Choose another address.</extracomment>
            <translation>Auf „{host}“ sind keine Verbindungen möglich: {reason}. Wählen Sie eine andere Adresse.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/api_server/listener.py" />
            <source>port_in_use</source>
            <extracomment>Port {port} is in use. Choose another port.</extracomment>
            <translation>Port {port} ist belegt. Wählen Sie einen anderen Port.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/calibration.py" />
            <source>measured</source>
            <extracomment>Measured</extracomment>
            <translation>Gemessen</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/calibration.py" />
            <source>measuring_at_depth</source>
            <extracomment>Measuring at {depth:,} tokens</extracomment>
            <translation>Messung bei {depth:,} Token</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/calibration.py" />
            <source>no_memory_to_calibrate</source>
            <extracomment>There isn't enough memory to calibrate. Quit other apps, or load a smaller model.</extracomment>
            <translation>Der Speicher reicht nicht zum Kalibrieren. Beenden Sie andere Apps, oder laden Sie ein kleineres Modell.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/calibration.py" />
            <source>nothing_to_calibrate</source>
            <extracomment>There is nothing to calibrate: the pair has no drafter.</extracomment>
            <translation>Es gibt nichts zu kalibrieren: Das Paar hat keinen Drafter.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_choice.py" />
            <source>checking_kernels</source>
            <extracomment>Checking the kernels</extracomment>
            <translation>Kernel werden geprüft</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_choice.py" />
            <source>kernel_faster</source>
            <extracomment>{saving:.1%} less time in passes of {rows} tokens</extracomment>
            <translation>{saving:.1%} weniger Zeit in Durchgängen mit {rows} Token</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_choice.py" />
            <source>kernel_faster_in_long</source>
            <extracomment>{saving:.1%} less time in passes of {rows} tokens in long contexts</extracomment>
            <translation>{saving:.1%} weniger Zeit in Durchgängen mit {rows} Token in langen Kontexten</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_choice.py" />
            <source>kernel_faster_in_short</source>
            <extracomment>{saving:.1%} less time in passes of {rows} tokens in short contexts</extracomment>
            <translation>{saving:.1%} weniger Zeit in Durchgängen mit {rows} Token in kurzen Kontexten</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_choice.py" />
            <source>kernel_gain_in_noise</source>
            <extracomment>no gain beyond the noise (±{noise:.1%})</extracomment>
            <translation>kein Gewinn über dem Rauschen (±{noise:.1%})</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_choice.py" />
            <source>kernel_not_faster</source>
            <extracomment>not faster: {ratio:.1%} of plain MLX's time</extracomment>
            <translation>nicht schneller: {ratio:.1%} der Zeit von MLX allein</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_choice.py" />
            <source>kernel_partly_right</source>
            <extracomment>{saving:.1%} less time in passes of {rows} tokens; wrong results or errors in passes of {excluded} tokens</extracomment>
            <translation>{saving:.1%} weniger Zeit in Durchgängen mit {rows} Token; falsche Ergebnisse oder Fehler in Durchgängen mit {excluded} Token</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_choice.py" />
            <source>kernel_slower_plain_steps</source>
            <extracomment>slows down plain decoding</extracomment>
            <translation>bremst normales Dekodieren</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_choice.py" />
            <source>timing_kernels</source>
            <extracomment>Timing kernels at {depth:,} tokens</extracomment>
            <translation>Kernel werden bei {depth:,} Token gemessen</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_selection.py" />
            <source>kernels_not_compared</source>
            <extracomment>not compared: replies with or without the kernels are missing</extracomment>
            <translation>nicht verglichen: Antworten mit oder ohne die Kernel fehlen</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_selection.py" />
            <source>kernels_not_exact</source>
            <extracomment>not exact: with the kernels, DFlash and plain decoding differ by more than rounding error</extracomment>
            <translation>nicht exakt: Mit den Kerneln weichen DFlash und normales Dekodieren stärker voneinander ab, als Rundung erlaubt</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_selection.py" />
            <source>no_kernels_to_try</source>
            <extracomment>This pair has no kernels to test, because it has no drafter.</extracomment>
            <translation>Es gibt nichts zu testen: Das Paar hat keinen Drafter.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_selection.py" />
            <source>no_kernels_without_metal</source>
            <extracomment>Kernels can't be tested: Metal isn't available on this machine.</extracomment>
            <translation>Kernel können nicht getestet werden: Dieser Computer hat kein Metal.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_selection.py" />
            <source>no_memory_to_try_kernels</source>
            <extracomment>There isn't enough memory to test the kernels. Quit other apps, or load a smaller model.</extracomment>
            <translation>Der Speicher reicht nicht, um die Kernel zu testen. Beenden Sie andere Apps, oder laden Sie ein kleineres Modell.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_selection.py" />
            <source>no_metal</source>
            <extracomment>Metal isn't available on this machine</extracomment>
            <translation>dieser Computer hat kein Metal</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_trials.py" />
            <source>kernel_fails</source>
            <extracomment>failed during generation: {reason}</extracomment>
            <translation>schlägt im Einsatz fehl: {reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_trials.py" />
            <source>kernel_not_called</source>
            <extracomment>not used by this pair</extracomment>
            <translation>wird von diesem Paar nicht verwendet</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_trials.py" />
            <source>kernel_sums_by_block</source>
            <extracomment>off in float32: its sums depend on the other rows of the block</extracomment>
            <translation>in float32 aus: Die Summen hängen von den anderen Zeilen des Blocks ab</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_trials.py" />
            <source>kernel_verifies_only</source>
            <extracomment>off in float32: plain steps don't use it, so their sums would differ</extracomment>
            <translation>in float32 aus: Schritte ohne DFlash verwenden ihn nicht, daher würden ihre Summen abweichen</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_trials.py" />
            <source>kernel_wrong</source>
            <extracomment>wrong results on this machine: {detail}</extracomment>
            <translation>falsche Ergebnisse auf diesem Computer: {detail}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/roofline.py" />
            <source>measuring_compute</source>
            <extracomment>Measuring compute</extracomment>
            <translation>Rechenleistung wird gemessen</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/roofline.py" />
            <source>measuring_memory</source>
            <extracomment>Measuring memory</extracomment>
            <translation>Speicher wird gemessen</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/roofline.py" />
            <source>measuring_pair</source>
            <extracomment>Measuring the models</extracomment>
            <translation>Modelle werden gemessen</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/roofline.py" />
            <source>no_memory_to_measure</source>
            <extracomment>There isn't enough memory to measure. Quit other apps, or load a smaller model.</extracomment>
            <translation>Der Speicher reicht nicht zum Messen. Beenden Sie andere Apps, oder laden Sie ein kleineres Modell.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/attached_images.py" />
            <source>image_bytes</source>
            <extracomment>“{name}” is too large. The limit for images is {limit} MB. Save it as JPEG.</extracomment>
            <translation>Die Datei „{name}“ ist zu groß. Bilder dürfen bis zu {limit} MB groß sein. Sichern Sie sie als JPEG.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/attached_images.py" />
            <source>image_empty</source>
            <extracomment>“{name}” is empty. Send an image.</extracomment>
            <translation>„{name}“ ist leer. Senden Sie ein Bild.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/attached_images.py" />
            <source>image_format</source>
            <extracomment>Can't read “{name}”, because {format} isn't supported. Save it as JPEG, PNG, WebP, GIF, TIFF, or HEIC.</extracomment>
            <translation>„{name}“ kann nicht gelesen werden, weil {format} nicht unterstützt wird. Sichern Sie es als JPEG, PNG, WebP, GIF, TIFF oder HEIC.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/attached_images.py" />
            <source>image_unknown</source>
            <extracomment>“{name}” isn't an image that can be read. Use JPEG, PNG, WebP, GIF, TIFF, or HEIC.</extracomment>
            <translation>„{name}“ ist kein lesbares Bild. Sichern Sie es als JPEG, PNG, WebP, GIF, TIFF oder HEIC.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/errors.py" />
            <source>dflash_off</source>
            <extracomment>DFlash is off</extracomment>
            <translation>DFlash ist ausgeschaltet</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/errors.py" />
            <source>no_drafter</source>
            <extracomment>no drafter is loaded</extracomment>
            <translation>kein Drafter ist geladen</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>cannot_delete</source>
            <extracomment>Can't delete “{path}” ({reason}). Check its permissions, then try again.</extracomment>
            <translation>„{path}“ lässt sich nicht löschen ({reason}). Prüfen Sie die Zugriffsrechte, und versuchen Sie es erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>cannot_read</source>
            <extracomment>Can't read “{path}” ({reason}). Check its permissions.</extracomment>
            <translation>„{path}“ kann nicht gelesen werden ({reason}). Prüfen Sie die Zugriffsrechte.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>cannot_write</source>
            <extracomment>Can't write to “{path}” ({reason}). Free up space or check the permissions, then try again.</extracomment>
            <translation>„{path}“ kann nicht geschrieben werden ({reason}). Geben Sie Speicherplatz frei oder prüfen Sie die Zugriffsrechte, und versuchen Sie es erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>damaged_file</source>
            <extracomment>“{path}” is damaged. Repair it, or delete it to start fresh.</extracomment>
            <translation>„{path}“ ist beschädigt. Reparieren Sie die Datei, oder löschen Sie sie, um neu zu beginnen.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>errno_eacces</source>
            <extracomment>Permission denied</extracomment>
            <translation>keine Berechtigung</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>errno_edquot</source>
            <extracomment>Disk quota exceeded</extracomment>
            <translation>das Kontingent ist erschöpft</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>errno_eio</source>
            <extracomment>Input/output error</extracomment>
            <translation>das Volume meldet einen Fehler</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>errno_eisdir</source>
            <extracomment>Is a directory</extracomment>
            <translation>das ist ein Ordner</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>errno_enametoolong</source>
            <extracomment>File name too long</extracomment>
            <translation>der Dateiname ist zu lang</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>errno_enoent</source>
            <extracomment>No such file or directory</extracomment>
            <translation>Datei oder Ordner nicht vorhanden</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>errno_enospc</source>
            <extracomment>No space left on device</extracomment>
            <translation>das Volume ist voll</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>errno_enotdir</source>
            <extracomment>Not a directory</extracomment>
            <translation>das ist kein Ordner</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>errno_eperm</source>
            <extracomment>Operation not permitted</extracomment>
            <translation>nicht erlaubt</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>errno_erofs</source>
            <extracomment>Read-only file system</extracomment>
            <translation>das Volume ist schreibgeschützt</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>not_regular_file</source>
            <extracomment>“{path}” isn't a regular file. Delete it, then try again.</extracomment>
            <translation>„{path}“ ist keine gewöhnliche Datei. Löschen Sie sie, und versuchen Sie es erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>wrong_path</source>
            <extracomment>Can't read “{path}” ({reason}). Check the path.</extracomment>
            <translation>„{path}“ kann nicht gelesen werden ({reason}). Prüfen Sie den Pfad.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>bad_effort</source>
            <extracomment>“{effort}” isn't a valid effort. Use one word, such as low, medium, or high.</extracomment>
            <translation>Der Aufwand ist „{effort}“. Verwenden Sie ein Wort wie low, medium oder high.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>cannot_see</source>
            <extracomment>It can't see images. Remove the image, or choose a model that can see.</extracomment>
            <translation>Es kann keine Bilder sehen. Entfernen Sie das Bild, oder wählen Sie ein Modell, das Bilder sehen kann.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>empty_stop_string</source>
            <extracomment>A stop sequence is empty, so every reply would end immediately. Remove it.</extracomment>
            <translation>Eine Stoppsequenz ist leer, sodass jede Antwort sofort enden würde. Entfernen Sie sie.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>image_in_other_message</source>
            <extracomment>“{name}” is in a system prompt or a reply. Put images into messages of the user or results of tools.</extracomment>
            <translation>„{name}“ ist in einer Systemanweisung oder einer Antwort. Bilder gehören in Nachrichten des Benutzers oder Ergebnisse von Werkzeugen.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>integer_out_of_range</source>
            <extracomment>The {name} can't be {value}. Use a whole number from {lowest} to {highest}{note}.</extracomment>
            <translation>{name} ist {value}. Verwenden Sie eine ganze Zahl von {lowest} bis {highest}{note}.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>integer_too_small</source>
            <extracomment>The {name} can't be {value}. Use a whole number, {lowest} or greater{note}.</extracomment>
            <translation>{name} ist {value}. Verwenden Sie eine ganze Zahl ab {lowest}{note}.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>number_out_of_range</source>
            <extracomment>The {name} can't be {value}. Use a number from {least:g} to {most:g}{note}.</extracomment>
            <translation>{name} ist {value}. Verwenden Sie eine Zahl von {least:g} bis {most:g}{note}.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>one_is_off</source>
            <extracomment> (1 is off)</extracomment>
            <translation> (1 schaltet aus)</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>sees_no_images</source>
            <extracomment>Can't show “{name}” to this model. {reason}</extracomment>
            <translation>„{name}“ kann diesem Modell nicht gezeigt werden. {reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>top_p_zero</source>
            <extracomment>Top-p is 0, which leaves no token to choose from. Use a number above 0 (1 is off).</extracomment>
            <translation>Top-p ist 0, sodass kein Token übrig bleibt. Verwenden Sie eine Zahl über 0; 1 bedeutet aus.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>unknown_bias_token</source>
            <extracomment>Token {token} in the logit bias is outside this model's range of 0 to {last}. Use other tokens.</extracomment>
            <translation>Token {token} des Logit-Bias liegt außerhalb des Bereichs dieses Modells von 0 bis {last}. Verwenden Sie andere Token.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>unknown_mode</source>
            <extracomment>“{mode}” isn't a valid mode. Use dflash or plain.</extracomment>
            <translation>Der Modus ist „{mode}“. Verwenden Sie dflash oder plain.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>unknown_prompt_token</source>
            <extracomment>Token {token} is outside this model's range of 0 to {last}. Use other tokens, or download the model again.</extracomment>
            <translation>Token {token} liegt außerhalb des Bereichs dieses Modells von 0 bis {last}. Verwenden Sie andere Token, oder laden Sie das Modell erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>with_this_drafter</source>
            <extracomment> with this drafter</extracomment>
            <translation> bei diesem Drafter</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>zero_is_off</source>
            <extracomment> (0 is off)</extracomment>
            <translation> (0 schaltet aus)</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/secrets.py" />
            <source>secrets_not_saved</source>
            <extracomment>The system's keychain isn't available, so secrets are kept only until you quit.</extracomment>
            <translation>Der Schlüsselbund des Systems ist nicht verfügbar. Geheime Werte bleiben daher nur bis zum Beenden erhalten.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/decoding/low_acceptance.py" />
            <source>drafter_for_other_text</source>
            <extracomment>the drafter was trained for another target or another kind of text</extracomment>
            <translation>der Drafter wurde für ein anderes Target oder eine andere Art von Text trainiert</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/decoding/low_acceptance.py" />
            <source>drafter_in_float16</source>
            <extracomment>the drafter runs in float16, where its values can overflow</extracomment>
            <translation>der Drafter rechnet in float16, wo seine Werte überlaufen können</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/decoding/low_acceptance.py" />
            <source>drafter_sees_window</source>
            <extracomment>the context exceeds {least:,} tokens, and the drafter sees only the last {window:,}</extracomment>
            <translation>der Kontext hat mehr als {least:,} Token, und der Drafter sieht nur die letzten {window:,}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/decoding/low_acceptance.py" />
            <source>temperature_too_high_to_draft</source>
            <extracomment>a temperature of {temperature:g} makes replies hard to predict</extracomment>
            <translation>eine Temperatur von {temperature:g} macht Antworten schwer vorhersehbar</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/decoding/width.py" />
            <source>few_drafts_accepted</source>
            <extracomment>few drafts were accepted</extracomment>
            <translation>es wurden nur wenige Entwürfe angenommen</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/decoding/width.py" />
            <source>nothing_to_copy</source>
            <extracomment>lookup found nothing to copy</extracomment>
            <translation>im bisherigen Text war nichts zu kopieren</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/decoding/width.py" />
            <source>others_share_passes</source>
            <extracomment>rows of other replies were worth more</extracomment>
            <translation>Zeilen anderer Antworten lohnten sich mehr</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/decoding/width.py" />
            <source>timing_plain_decoding</source>
            <extracomment>plain decoding was being timed</extracomment>
            <translation>das Dekodieren ohne DFlash wurde gerade gemessen</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/decoding/width.py" />
            <source>verify_too_slow</source>
            <extracomment>verifying several tokens in one pass is too slow on this machine</extracomment>
            <translation>mehrere Token auf einmal zu prüfen, ist auf diesem Computer zu langsam</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/decoding/width.py" />
            <source>width_1_requested</source>
            <extracomment>width 1 was requested</extracomment>
            <translation>Breite 1 wurde verlangt</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/gemma4_assistant/model.py" />
            <source>assistant_without_keys</source>
            <extracomment>The target lacks the layers whose keys this drafter reads. Choose another drafter.</extracomment>
            <translation>Dem Zielmodell fehlen die Schichten, deren Schlüssel dieser Drafter liest. Wählen Sie einen anderen Drafter.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/parts/config_fields.py" />
            <source>drafter_field_missing</source>
            <extracomment>Can't use this drafter: its config.json has no “{field}”. Download it again, or choose another drafter.</extracomment>
            <translation>Dieser Drafter kann nicht verwendet werden: Seine config.json enthält kein Feld „{field}“. Laden Sie ihn erneut, oder wählen Sie einen anderen Drafter.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/parts/config_fields.py" />
            <source>drafter_field_unexpected</source>
            <extracomment>Can't use this drafter: it sets “{field}” to {value} (expected: {expected}). Choose another drafter.</extracomment>
            <translation>Dieser Drafter kann nicht verwendet werden: Er setzt „{field}“ auf {value}; erwartet: {expected}. Wählen Sie einen anderen Drafter.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/parts/config_fields.py" />
            <source>drafter_field_unknown</source>
            <extracomment>Can't use this drafter: its config.json has an unknown “{field}” ({value}). Choose another drafter.</extracomment>
            <translation>Dieser Drafter kann nicht verwendet werden: Seine config.json enthält ein unbekanntes „{field}“ ({value}). Wählen Sie einen anderen Drafter.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/parts/config_fields.py" />
            <source>drafter_fields_contradict</source>
            <extracomment>Can't use this drafter: “{first}” ({value}) conflicts with “{second}” ({other}). Choose another drafter.</extracomment>
            <translation>Dieser Drafter kann nicht verwendet werden: „{first}“ ({value}) widerspricht „{second}“ ({other}). Wählen Sie einen anderen Drafter.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/parts/ends.py" />
            <source>drafter_vocabulary_invalid</source>
            <extracomment>The drafter's “{name}” must list {count:,} distinct token IDs below {vocabulary:,}. Download it again, or choose another drafter.</extracomment>
            <translation>„{name}“ des Drafters muss {count:,} verschiedene Token-IDs unter {vocabulary:,} enthalten. Laden Sie ihn erneut, oder wählen Sie einen anderen Drafter.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/parts/tensors.py" />
            <source>drafter_groups_do_not_divide</source>
            <extracomment>The drafter's “{name}” has {columns} columns, not a multiple of the group size {group}. Download it again, or choose another drafter.</extracomment>
            <translation>„{name}“ des Drafters hat {columns} Spalten, die sich nicht in Gruppen von {group} teilen lassen. Laden Sie ihn erneut, oder wählen Sie einen anderen Drafter.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/parts/tensors.py" />
            <source>drafter_quantization_undeclared</source>
            <extracomment>The drafter's “{name}” is stored quantized, but its config.json lacks “quantization”. Download it again, or choose another drafter.</extracomment>
            <translation>„{name}“ des Drafters ist quantisiert gespeichert, aber seine config.json enthält kein „quantization“. Laden Sie ihn erneut, oder wählen Sie einen anderen Drafter.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/parts/tensors.py" />
            <source>drafter_tensor_missing</source>
            <extracomment>The drafter's weights lack “{name}”. Download it again, or choose another drafter.</extracomment>
            <translation>In den Gewichten des Drafters fehlt „{name}“. Laden Sie ihn erneut, oder wählen Sie einen anderen Drafter.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/parts/tensors.py" />
            <source>drafter_tensor_not_finite</source>
            <extracomment>The drafter's “{name}” contains NaN or infinity. Download it again, or choose another drafter.</extracomment>
            <translation>„{name}“ des Drafters enthält NaN oder Unendlich. Laden Sie ihn erneut, oder wählen Sie einen anderen Drafter.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/parts/tensors.py" />
            <source>drafter_tensor_not_floating</source>
            <extracomment>The drafter's “{name}” is stored as {dtype}, not as floating point. Download it again, or choose another drafter.</extracomment>
            <translation>„{name}“ des Drafters ist als {dtype} gespeichert, nicht als Gleitkommazahlen. Laden Sie ihn erneut, oder wählen Sie einen anderen Drafter.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/parts/tensors.py" />
            <source>drafter_tensor_not_integer</source>
            <extracomment>The drafter's “{name}” is stored as {dtype}, not as integers. Download it again, or choose another drafter.</extracomment>
            <translation>„{name}“ des Drafters ist als {dtype} gespeichert, nicht als ganze Zahlen. Laden Sie ihn erneut, oder wählen Sie einen anderen Drafter.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/parts/tensors.py" />
            <source>drafter_tensor_not_packed</source>
            <extracomment>The drafter's “{name}” is stored as {dtype}, not as packed integers. Download it again, or choose another drafter.</extracomment>
            <translation>„{name}“ des Drafters ist als {dtype} gespeichert, nicht als gepackte ganze Zahlen. Laden Sie ihn erneut, oder wählen Sie einen anderen Drafter.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/parts/tensors.py" />
            <source>drafter_tensor_shape</source>
            <extracomment>The drafter's “{name}” has shape {shape}, but its config.json requires {expected}. Download it again, or choose another drafter.</extracomment>
            <translation>„{name}“ des Drafters hat die Form {shape}, aber seine config.json verlangt {expected}. Laden Sie ihn erneut, oder wählen Sie einen anderen Drafter.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/parts/tensors.py" />
            <source>drafter_tensors_unexpected</source>
            <extracomment>The drafter's config.json doesn't account for the tensor “{name}” (unexpected tensors: {count}). Choose another drafter, or use plain decoding.</extracomment>
            <translation>Der Tensor „{name}“ ist in der config.json des Drafters nicht vorgesehen (unerwartete Tensoren: {count}). Wählen Sie einen anderen Drafter, oder verwenden Sie normales Dekodieren.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/comparison.py" />
            <source>no_drafter_to_compare</source>
            <extracomment>None of the drafters could be loaded, so there is nothing to compare.</extracomment>
            <translation>Keiner der Drafter konnte geladen werden, also gibt es nichts zu vergleichen.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/comparison.py" />
            <source>pairs_not_together</source>
            <extracomment>Only one drafter can be loaded at a time, so several can't reply at the same time. Choose one of them.</extracomment>
            <translation>Es kann immer nur ein Drafter geladen sein, daher können mehrere nicht gleichzeitig antworten. Wählen Sie einen davon.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/comparison.py" />
            <source>server_not_together</source>
            <extracomment>A server's replies can only be compared one after the other.</extracomment>
            <translation>Antworten eines Servers lassen sich nur nacheinander vergleichen.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/engine.py" />
            <source>checking_files</source>
            <extracomment>Checking files</extracomment>
            <translation>Dateien werden geprüft</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/engine.py" />
            <source>drafter_skipped</source>
            <extracomment>The drafter “{drafter}” can't be loaded, so another one is used. {reason}</extracomment>
            <translation>Der Drafter „{drafter}“ kann nicht geladen werden. Es wird ein anderer verwendet. {reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/engine.py" />
            <source>engine_busy</source>
            <extracomment>A reply is still being generated. Stop it or wait for it to finish, then try again.</extracomment>
            <translation>Es wird noch eine Antwort erzeugt. Stoppen Sie sie, oder warten Sie, bis sie fertig ist, und versuchen Sie es dann erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/engine.py" />
            <source>no_drafter_usable</source>
            <extracomment>No drafter can be loaded, so DFlash is off. “{drafter}”: {reason}</extracomment>
            <translation>Kein Drafter kann geladen werden, daher ist DFlash aus. „{drafter}“: {reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/engine.py" />
            <source>no_pair_loaded</source>
            <extracomment>No model is loaded. Load one first.</extracomment>
            <translation>Es ist kein Modell geladen. Laden Sie zuerst eines.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/generation.py" />
            <source>gpu_error_survived</source>
            <extracomment>Continued after a GPU error: {reason}</extracomment>
            <translation>Nach einem GPU-Fehler fortgesetzt: {reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/generation.py" />
            <source>kernels_turned_off</source>
            <extracomment>Continued without Metal kernels after a GPU error: {reason}. They stay off until you choose Test Kernels in This Mac.</extracomment>
            <translation>Nach einem GPU-Fehler ohne Metal-Kernel fortgesetzt: {reason}. Sie bleiben aus, bis Sie in „Dieser Mac“ „Kernel testen“ wählen.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/generation.py" />
            <source>memory_ended_reply</source>
            <extracomment>The reply was stopped, because memory was almost full. Quit other apps, then try again.</extracomment>
            <translation>Die Antwort wurde gestoppt, weil der Arbeitsspeicher fast voll war. Beenden Sie andere Apps, und versuchen Sie es dann erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/generation.py" />
            <source>reply_memory</source>
            <extracomment>There isn't enough memory for this reply. Quit other apps, start a new chat, or load a smaller model.</extracomment>
            <translation>Der Speicher reicht nicht für diese Antwort. Beenden Sie andere Apps, beginnen Sie einen neuen Chat, oder laden Sie ein kleineres Modell.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/host.py" />
            <source>memory_full</source>
            <extracomment>Memory is almost full. Quit other apps, then try again.</extracomment>
            <translation>Der Arbeitsspeicher ist fast voll. Beenden Sie andere Apps, und versuchen Sie es dann erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/host.py" />
            <source>starting_engine</source>
            <extracomment>Starting the engine</extracomment>
            <translation>Die Engine startet</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/host.py" />
            <source>too_busy</source>
            <extracomment>Too many replies are waiting. Try again in {seconds} seconds.</extracomment>
            <translation>Zu viele Antworten warten bereits. Versuchen Sie es in {seconds} Sekunden erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/local_comparison.py" />
            <source>no_memory_to_compare</source>
            <extracomment>There isn't enough memory to compare the replies. Quit other apps, or load a smaller model.</extracomment>
            <translation>Der Speicher reicht nicht, um die Antworten zu vergleichen. Beenden Sie andere Apps, oder laden Sie ein kleineres Modell.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/memory_use.py" />
            <source>no_memory_to_load</source>
            <extracomment>There isn't enough memory for {size:,.1f} GB of weights. Quit other apps, or choose a smaller model.</extracomment>
            <translation>Der Speicher reicht nicht für {size:,.1f} GB an Gewichten. Beenden Sie andere Apps, oder wählen Sie ein kleineres Modell.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/prepare.py" />
            <source>context_full</source>
            <extracomment>The chat has {tokens:,} tokens, but the context holds only {limit:,}. Shorten the chat, or start a new one.</extracomment>
            <translation>Der Chat hat {tokens:,} Token, aber der Kontext dieses Modells fasst nur {limit:,}. Kürzen Sie den Chat, oder beginnen Sie einen neuen.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/prepare.py" />
            <source>exact_with_images</source>
            <extracomment>Exact mode can't be used with images. Turn it off, or remove “{name}”.</extracomment>
            <translation>Der exakte Modus kann nicht mit Bildern verwendet werden. Schalten Sie ihn aus, oder entfernen Sie „{name}“.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/chat_prompt.py" />
            <source>chat_without_tokens</source>
            <extracomment>The model's chat template or tokenizer produces an empty prompt. Download the model again, or choose another one.</extracomment>
            <translation>Die Chat-Vorlage oder der Tokenizer des Modells erzeugt einen leeren Prompt. Laden Sie das Modell erneut, oder wählen Sie ein anderes.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/chat_prompt.py" />
            <source>context_exceeded</source>
            <extracomment>The chat has at least {tokens:,} tokens, but the context holds only {limit:,}. Shorten the chat, or start a new one.</extracomment>
            <translation>Der Chat hat mindestens {tokens:,} Token, aber der Kontext dieses Modells fasst nur {limit:,}. Kürzen Sie den Chat, oder beginnen Sie einen neuen.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/chat_prompt.py" />
            <source>half_character</source>
            <extracomment>The prompt contains half of a character ({code}). Remove it from the text, or choose another model.</extracomment>
            <translation>Der Prompt enthält ein halbes Zeichen ({code}). Entfernen Sie es aus dem Text, oder wählen Sie ein anderes Modell.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/chat_prompt.py" />
            <source>nothing_to_answer</source>
            <extracomment>This chat has no message to reply to. Write one first.</extracomment>
            <translation>Es gibt nichts zu beantworten: Der Chat enthält keine Nachricht von Ihnen. Schreiben Sie zuerst eine.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/chat_prompt.py" />
            <source>prompt_without_tokens</source>
            <extracomment>The prompt is empty. Pass at least one token.</extracomment>
            <translation>Der Prompt ist leer. Geben Sie mindestens ein Token an.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/chat_prompt.py" />
            <source>two_prompts</source>
            <extracomment>Pass either messages or prompt tokens, not both.</extracomment>
            <translation>Geben Sie entweder Nachrichten oder Prompt-Token an, nicht beides.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/chat_prompt.py" />
            <source>unknown_role</source>
            <extracomment>The chat has a message with the role “{role}”. Use system, user, assistant, or tool.</extracomment>
            <translation>Der Chat enthält eine Nachricht mit der Rolle „{role}“. Verwenden Sie system, user, assistant oder tool.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/chat_text.py" />
            <source>chat_template_rejects</source>
            <extracomment>The model's chat template rejects this chat: {reason}</extracomment>
            <translation>Die Chat-Vorlage des Modells lehnt diesen Chat ab: {reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/chat_text.py" />
            <source>takes_no_tools</source>
            <extracomment>This model can't call tools. Choose another model, or start a chat without tools.</extracomment>
            <translation>Dieses Modell kann keine Werkzeuge aufrufen. Wählen Sie ein anderes Modell, oder beginnen Sie einen Chat ohne Werkzeuge.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/grammars.py" />
            <source>no_tools_to_choose</source>
            <extracomment>tool_choice is “{choice}”, but the request has no tools. Add tools, or use auto.</extracomment>
            <translation>tool_choice ist „{choice}“, aber die Anfrage enthält keine Werkzeuge. Fügen Sie Werkzeuge hinzu, oder verwenden Sie auto.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/grammars.py" />
            <source>unknown_tool_choice</source>
            <extracomment>tool_choice is “{choice}”, but no tool has this name. Use auto, none, required, or the name of a tool.</extracomment>
            <translation>tool_choice ist „{choice}“, aber kein Werkzeug hat diesen Namen. Verwenden Sie auto, none, required oder den Namen eines Werkzeugs.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/rank_file.py" />
            <source>rank_file_damaged</source>
            <extracomment>Can't read the tokenizer of “{name}”: {file} {fault}. Download the model again, or choose another one.</extracomment>
            <translation>Der Tokenizer von „{name}“ kann nicht gelesen werden: {file} {fault}. Laden Sie das Modell erneut, oder wählen Sie ein anderes.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/rank_file.py" />
            <source>rank_file_incomplete</source>
            <extracomment>lacks or repeats tokens</extracomment>
            <translation>enthält nicht alle Token oder einige doppelt</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/rank_file.py" />
            <source>rank_file_too_large</source>
            <extracomment>has more than {most:,} bytes</extracomment>
            <translation>hat mehr als {most:,} Byte</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/rank_file.py" />
            <source>rank_line_invalid</source>
            <extracomment>has no valid token and rank in line {line}</extracomment>
            <translation>hat in Zeile {line} kein gültiges Token mit Rang</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/rank_file.py" />
            <source>special_token_invalid</source>
            <extracomment>names an invalid special token ({number})</extracomment>
            <translation>nennt ein ungültiges Sondertoken ({number})</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/rank_file.py" />
            <source>special_token_twice</source>
            <extracomment>names “{text}”, which is a token already</extracomment>
            <translation>nennt „{text}“, das bereits ein Token ist</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/reply_format.py" />
            <source>tool_choice_unsupported</source>
            <extracomment>This model's tool calls can't be constrained. Set tool_choice to auto or none, and don't use strict tools.</extracomment>
            <translation>Die Aufrufe dieses Modells können nicht eingeschränkt werden. Verwenden Sie tool_choice auto oder none und keine strikten Werkzeuge.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/sight.py" />
            <source>image_token_in_text</source>
            <extracomment>The chat contains “{placeholder}”, which stands for an image in this model's prompts. Remove it.</extracomment>
            <translation>Der Chat enthält „{placeholder}“, das in Prompts dieses Modells für ein Bild steht. Entfernen Sie es.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/template_sandbox.py" />
            <source>chat_template_large</source>
            <extracomment>The model's chat template produces more text than a context can hold. Choose another model.</extracomment>
            <translation>Die Chat-Vorlage des Modells erzeugt mehr Text, als irgendein Kontext fasst. Wählen Sie ein anderes Modell.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/template_sandbox.py" />
            <source>chat_template_process</source>
            <extracomment>The process that renders the model's chat template ended unexpectedly. Try again, or choose another model.</extracomment>
            <translation>Der Prozess, der die Chat-Vorlage des Modells auswertet, ist unerwartet beendet worden. Versuchen Sie es erneut, oder wählen Sie ein anderes Modell.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/template_sandbox.py" />
            <source>chat_template_slow</source>
            <extracomment>The model's chat template takes longer than {seconds:g} seconds. Choose another model.</extracomment>
            <translation>Die Chat-Vorlage des Modells braucht länger als {seconds:g} Sekunden. Wählen Sie ein anderes Modell.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/template_sandbox.py" />
            <source>tokenizer_crashes</source>
            <extracomment>The model's tokenizer crashed ({reason}). Choose another model.</extracomment>
            <translation>Der Tokenizer des Modells ist abgestürzt ({reason}). Wählen Sie ein anderes Modell.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/template_sandbox.py" />
            <source>tokenizer_slow</source>
            <extracomment>The model's tokenizer takes longer than {seconds:g} seconds. Shorten the chat, or choose another model.</extracomment>
            <translation>Der Tokenizer des Modells braucht länger als {seconds:g} Sekunden. Kürzen Sie den Chat, oder wählen Sie ein anderes Modell.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/token_grammar.py" />
            <source>bad_schema</source>
            <extracomment>The schema can't be used: {reason}</extracomment>
            <translation>Das Schema kann nicht verwendet werden: {reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/token_grammar.py" />
            <source>no_grammars</source>
            <extracomment>This model can't follow a schema or tool choice: its tokenizer isn't supported. Choose another model.</extracomment>
            <translation>Dieses Modell kann keinem Schema und keiner Werkzeugwahl folgen: Sein Tokenizer wird nicht unterstützt. Wählen Sie ein anderes Modell.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/token_grammar.py" />
            <source>reply_stuck</source>
            <extracomment>The reply can't match its schema or tool choice: {reason}</extracomment>
            <translation>Die Antwort kann ihr Schema oder ihre Werkzeugwahl nicht erfüllen: {reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/hardware/blas.py" />
            <source>blas_missing</source>
            <extracomment>OpenBLAS ({library}) isn't installed. Install it, then start Slipstream again.</extracomment>
            <translation>OpenBLAS ({library}) ist nicht installiert. Installieren Sie es, und starten Sie Slipstream erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/hardware/blas.py" />
            <source>blas_unknown</source>
            <extracomment>Slipstream was started with an unknown BLAS (“{value}”). Quit Slipstream, then open it normally.</extracomment>
            <translation>Slipstream wurde mit einer unbekannten BLAS („{value}“) gestartet. Beenden Sie Slipstream, und öffnen Sie es wie gewohnt.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/hardware/blas.py" />
            <source>threads_invalid</source>
            <extracomment>Slipstream was started with an invalid number of threads (“{value}”). Quit Slipstream, then open it normally.</extracomment>
            <translation>Slipstream wurde mit einer ungültigen Anzahl von Threads („{value}“) gestartet. Beenden Sie Slipstream, und öffnen Sie es wie gewohnt.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/hardware/gpu_faults.py" />
            <source>gpu_compiler</source>
            <extracomment>macOS couldn't compile a kernel</extracomment>
            <translation>macOS konnte einen Kernel nicht kompilieren</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/hardware/gpu_faults.py" />
            <source>gpu_error</source>
            <extracomment>“{message}”</extracomment>
            <translation>„{message}“</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/hardware/gpu_faults.py" />
            <source>gpu_failed</source>
            <extracomment>The GPU failed: {reason}. Try again. If it fails again, quit and reopen Slipstream, or restart the Mac.</extracomment>
            <translation>Die GPU hat versagt: {reason}. Versuchen Sie es noch einmal. Wenn es wieder geschieht, beenden und öffnen Sie Slipstream, oder starten Sie den Mac neu.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/hardware/gpu_faults.py" />
            <source>gpu_refused</source>
            <extracomment>macOS accepts no GPU work from Slipstream after earlier errors</extracomment>
            <translation>macOS nimmt nach früheren Fehlern keine GPU-Aufgaben von Slipstream mehr an</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/hardware/gpu_faults.py" />
            <source>gpu_reset</source>
            <extracomment>macOS reset the GPU because of other work</extracomment>
            <translation>macOS hat die GPU wegen anderer Aufgaben zurückgesetzt</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/hardware/gpu_faults.py" />
            <source>gpu_threads</source>
            <extracomment>a kernel needs more threads than this GPU allows</extracomment>
            <translation>ein Kernel braucht mehr Threads, als diese GPU erlaubt</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/hardware/gpu_faults.py" />
            <source>gpu_too_slow</source>
            <extracomment>macOS stopped the GPU's work because it took too long</extracomment>
            <translation>macOS hat die Arbeit der GPU abgebrochen, weil sie zu lange dauerte</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/drafter_files.py" />
            <source>drafter_mask_needs_code</source>
            <extracomment>The drafter in {folder} stores its mask embedding in mask_embedding.pt, a format that can run code when it is loaded. Choose another drafter, or use plain decoding.</extracomment>
            <translation>Der Drafter in {folder} speichert sein Masken-Embedding in mask_embedding.pt. Beim Lesen dieses Formats wird Code ausgeführt. Wählen Sie einen anderen Drafter, oder verwenden Sie normales Dekodieren.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/loaded_pair.py" />
            <source>drafter_vocabulary_differs</source>
            <extracomment>The drafter's vocabulary has {tokens:,} tokens and its mask token is {mask:,}, but the target has {rows:,} tokens. Choose another drafter.</extracomment>
            <translation>Das Vokabular des Drafters hat {tokens:,} Token und sein Masken-Token ist {mask:,}, aber das Zielmodell hat {rows:,} Token. Wählen Sie einen anderen Drafter.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/loaded_pair.py" />
            <source>exact_without_drafter</source>
            <extracomment>Exact mode needs a drafter, but none is loaded. Turn exact mode off.</extracomment>
            <translation>Der exakte Modus macht den Text mit DFlash gleich dem ohne DFlash, aber es ist kein Drafter geladen. Schalten Sie den exakten Modus aus.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/loaded_pair.py" />
            <source>more_logits_than_embeddings</source>
            <extracomment>The model has logits for {logits:,} tokens, but embeddings for only {rows:,}. Download it again, or choose another one.</extracomment>
            <translation>Das Modell wählt unter {logits:,} Token, hat aber nur für {rows:,} Embeddings. Laden Sie es erneut, oder wählen Sie ein anderes.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/loaded_pair.py" />
            <source>reading_drafter</source>
            <extracomment>Reading the drafter</extracomment>
            <translation>Der Drafter wird gelesen</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/loaded_pair.py" />
            <source>ready</source>
            <extracomment>Ready</extracomment>
            <translation>Bereit</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/loaded_pair.py" />
            <source>sharded_without_images</source>
            <extracomment>Images can't be used with a model that runs on several computers.</extracomment>
            <translation>Bilder können mit einem Modell, das auf mehreren Computern läuft, nicht verwendet werden.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/loaded_pair.py" />
            <source>warming_up</source>
            <extracomment>Warming up</extracomment>
            <translation>Wird aufgewärmt</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/lora.py" />
            <source>adapter_outdated</source>
            <extracomment>The tuned drafter in {file} isn't used, because the drafter or the target has changed. Tune it again.</extracomment>
            <translation>Der angepasste Drafter in {file} wird nicht verwendet, weil sich der Drafter oder das Zielmodell geändert hat. Passen Sie ihn erneut an.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/target_model.py" />
            <source>config_fault</source>
            <extracomment>The config.json file of “{name}” {fault}. Download the model again, or choose another one.</extracomment>
            <translation>Die config.json von „{name}“ {fault}. Laden Sie das Modell erneut, oder wählen Sie ein anderes.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/target_model.py" />
            <source>config_field_invalid</source>
            <extracomment>has an invalid “{field}”</extracomment>
            <translation>enthält ein ungültiges Feld „{field}“</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/target_model.py" />
            <source>config_field_not_positive</source>
            <extracomment>sets “{field}” to {value}, but it must be a whole number above 0</extracomment>
            <translation>gibt „{field}“ als {value} an; nötig ist eine ganze Zahl über 0</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/target_model.py" />
            <source>config_not_of_family</source>
            <extracomment>doesn't match its model family</extracomment>
            <translation>beschreibt kein Modell der angegebenen Familie</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/target_model.py" />
            <source>family_unknown_to_mlx_lm</source>
            <extracomment>The installed mlx-lm can't run “{name}” (family “{family}”), and Slipstream never runs Python code that comes with a model. Choose another model.</extracomment>
            <translation>Das installierte mlx-lm kann „{name}“ (Familie „{family}“) nicht ausführen. Python-Code aus Modellen wird nie ausgeführt. Wählen Sie ein anderes Modell.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/target_model.py" />
            <source>model_unreadable</source>
            <extracomment>mlx-lm can't load “{name}”: {reason}. Download the model again, or choose another one.</extracomment>
            <translation>mlx-lm kann „{name}“ nicht laden: {reason}. Laden Sie das Modell erneut, oder wählen Sie ein anderes.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/target_model.py" />
            <source>reading_target</source>
            <extracomment>Reading the target</extracomment>
            <translation>Das Zielmodell wird gelesen</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/target_model.py" />
            <source>tensor_format</source>
            <extracomment>“{tensor}” is stored as {dtype}</extracomment>
            <translation>„{tensor}“ ist als {dtype} gespeichert</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/target_model.py" />
            <source>tensor_missing</source>
            <extracomment>“{tensor}” is missing</extracomment>
            <translation>„{tensor}“ fehlt</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/target_model.py" />
            <source>tensor_not_in_model</source>
            <extracomment>“{tensor}” isn't part of the model</extracomment>
            <translation>„{tensor}“ gehört nicht zum Modell</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/target_model.py" />
            <source>tensor_shape_differs</source>
            <extracomment>“{tensor}” has shape {found}, not {expected}</extracomment>
            <translation>„{tensor}“ hat die Form {found} statt {expected}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/target_model.py" />
            <source>tokenizer_unreadable</source>
            <extracomment>Can't read the tokenizer of “{name}”: tokenizer.json or tokenizer_config.json is damaged or unsupported. Download the model again, or choose another one.</extracomment>
            <translation>Der Tokenizer von „{name}“ kann nicht gelesen werden: tokenizer.json oder tokenizer_config.json ist beschädigt oder wird nicht unterstützt. Laden Sie das Modell erneut, oder wählen Sie ein anderes.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/target_model.py" />
            <source>weights_do_not_fit</source>
            <extracomment>The weights of “{name}” don't match its config.json ({reason}). Download the model again, or choose another one.</extracomment>
            <translation>Die Gewichte von „{name}“ passen nicht zur config.json ({reason}). Laden Sie das Modell erneut, oder wählen Sie ein anderes.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/target_model.py" />
            <source>weights_not_finite</source>
            <extracomment>The weights of “{model}” contain NaN or infinity (“{tensor}”). Download the model again, or choose another one.</extracomment>
            <translation>Die Gewichte von „{model}“ enthalten NaN oder Unendlich („{tensor}“). Laden Sie das Modell erneut, oder wählen Sie ein anderes.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/approvals.py" />
            <source>approvals_not_saved</source>
            <extracomment>Can't save the list of allowed tools ({reason}). Check the permissions of “{file}”, then try again.</extracomment>
            <translation>Welche Werkzeuge erlaubt sind, kann nicht gespeichert werden ({reason}). Prüfen Sie die Zugriffsrechte von „{file}“, und versuchen Sie es noch einmal.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/config.py" />
            <source>bad_server_field</source>
            <extracomment>“{field}” of “{server}” isn't valid. Use a value such as {example}.</extracomment>
            <translation>„{field}“ von „{server}“ ist ungültig. Verwenden Sie einen Wert wie {example}.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/config.py" />
            <source>bad_server_name</source>
            <extracomment>“{server}” isn't a valid server name. Use up to 64 characters, without control characters.</extracomment>
            <translation>„{server}“ ist kein gültiger Servername. Verwenden Sie bis zu 64 Zeichen, ohne Steuerzeichen.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/config.py" />
            <source>no_servers</source>
            <extracomment>The file has no “mcpServers” object. Add it, or choose another file.</extracomment>
            <translation>Die Datei hat kein Objekt „mcpServers“. Fügen Sie es hinzu, oder wählen Sie eine andere Datei.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/config.py" />
            <source>placeholder_in_server</source>
            <extracomment>“{server}” contains the placeholder “{text}”. Replace it with the actual value.</extracomment>
            <translation>„{server}“ enthält den Platzhalter „{text}“. Ersetzen Sie ihn durch seinen Wert.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/config.py" />
            <source>secret_missing</source>
            <extracomment>The system's keychain has no “{name}” for “{server}”. Enter it again in Settings.</extracomment>
            <translation>Im Schlüsselbund des Systems fehlt „{name}“ von „{server}“. Geben Sie den Wert in den Einstellungen noch einmal ein.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/config.py" />
            <source>server_incomplete</source>
            <extracomment>“{server}” needs either a command or a URL. Correct its entry, then try again.</extracomment>
            <translation>„{server}“ braucht entweder einen Befehl oder eine URL. Korrigieren Sie den Eintrag, und versuchen Sie es noch einmal.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/config.py" />
            <source>server_named_twice</source>
            <extracomment>Two servers have the same name. Rename one of them.</extracomment>
            <translation>Zwei Server haben denselben Namen. Benennen Sie einen davon um.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/config.py" />
            <source>servers_not_json</source>
            <extracomment>The list of servers isn't valid JSON ({reason}). Correct it, then try again.</extracomment>
            <translation>Die Liste der Server ist kein gültiges JSON ({reason}). Korrigieren Sie sie, und versuchen Sie es noch einmal.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/connection.py" />
            <source>tool_asked</source>
            <extracomment>“{tool}” requested data that Slipstream doesn't share with servers.</extracomment>
            <translation>„{tool}“ hat Daten angefordert, die Slipstream nicht an Server weitergibt.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/connection.py" />
            <source>tool_bad_arguments</source>
            <extracomment>The arguments aren't a JSON object.</extracomment>
            <translation>Die Argumente sind kein JSON-Objekt.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/connection.py" />
            <source>tool_bad_result</source>
            <extracomment>“{tool}” didn't return a valid result.</extracomment>
            <translation>„{tool}“ hat kein gültiges Ergebnis geliefert.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/connection.py" />
            <source>tool_cannot_connect</source>
            <extracomment>Can't connect to “{server}” ({reason}). Check the address and the network.</extracomment>
            <translation>Es kann keine Verbindung zu „{server}“ hergestellt werden ({reason}). Prüfen Sie die Adresse und das Netzwerk.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/connection.py" />
            <source>tool_changed</source>
            <extracomment>“{server}” changed “{tool}” after it was offered to the model. The tool wasn't called.</extracomment>
            <translation>„{server}“ hat „{tool}“ geändert, seit das Werkzeug angeboten wurde. Es wurde nicht aufgerufen.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/connection.py" />
            <source>tool_ended</source>
            <extracomment>“{server}” exited before it responded. Check its output.</extracomment>
            <translation>„{server}“ wurde beendet, bevor eine Antwort kam. Sehen Sie sich die Ausgabe an.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/connection.py" />
            <source>tool_failed</source>
            <extracomment>“{tool}” failed ({reason}).</extracomment>
            <translation>„{tool}“ ist fehlgeschlagen ({reason}).</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/connection.py" />
            <source>tool_local_network</source>
            <extracomment>Can't connect to “{server}”. Make sure that it is on, and allow Slipstream in System Settings ▸ Privacy &amp; Security ▸ Local Network.</extracomment>
            <translation>Keine Verbindung zu „{server}“. Prüfen Sie, ob der Server eingeschaltet ist, und erlauben Sie Slipstream den Zugriff unter Systemeinstellungen ▸ Datenschutz &amp; Sicherheit ▸ Lokales Netzwerk.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/connection.py" />
            <source>tool_no_answer</source>
            <extracomment>“{server}” didn't respond within {seconds:g} seconds.</extracomment>
            <translation>„{server}“ hat nicht innerhalb von {seconds:g} Sekunden geantwortet.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/connection.py" />
            <source>tool_rejected</source>
            <extracomment>“{server}” rejected the Authorization header. Change it in Settings.</extracomment>
            <translation>„{server}“ hat den Authorization-Header abgelehnt. Ändern Sie ihn in den Einstellungen.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/connection.py" />
            <source>tool_server_error</source>
            <extracomment>“{server}” returned an error ({reason}).</extracomment>
            <translation>„{server}“ hat mit einem Fehler geantwortet ({reason}).</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/connection.py" />
            <source>tool_sign_in_failed</source>
            <extracomment>Can't sign in to “{server}” ({reason}). Try again.</extracomment>
            <translation>Die Anmeldung bei „{server}“ ist fehlgeschlagen ({reason}). Versuchen Sie es noch einmal.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/connection.py" />
            <source>tool_sign_in_needed</source>
            <extracomment>“{server}” requires you to sign in. Choose Sign In in Settings under Tools.</extracomment>
            <translation>Für „{server}“ ist eine Anmeldung erforderlich. Wählen Sie „Anmelden“ in den Einstellungen unter „Werkzeuge“.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/oauth.py" />
            <source>tool_url_not_secure</source>
            <extracomment>“{url}” must start with https://. Change the address.</extracomment>
            <translation>„{url}“ muss mit https:// beginnen. Ändern Sie die Adresse.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/server_status.py" />
            <source>tool_server_gone</source>
            <extracomment>The connection to “{server}” has ended.</extracomment>
            <translation>Die Verbindung zu „{server}“ wurde beendet.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/servers.py" />
            <source>tool_canceled</source>
            <extracomment>The call to “{tool}” was canceled.</extracomment>
            <translation>Der Aufruf von „{tool}“ wurde abgebrochen.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/servers.py" />
            <source>tool_timed_out</source>
            <extracomment>“{tool}” didn't finish within {seconds:g} seconds and was stopped.</extracomment>
            <translation>„{tool}“ wurde nicht innerhalb von {seconds:g} Sekunden fertig und wurde gestoppt.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/transports.py" />
            <source>tool_answer_compressed</source>
            <extracomment>“{server}” sent a compressed response that wasn't requested.</extracomment>
            <translation>„{server}“ hat unaufgefordert eine komprimierte Antwort gesendet.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/transports.py" />
            <source>tool_command_failed</source>
            <extracomment>Can't start “{program}” ({reason}).</extracomment>
            <translation>„{program}“ kann nicht gestartet werden ({reason}).</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/transports.py" />
            <source>tool_command_not_found</source>
            <extracomment>Can't find “{program}”. Install it, or enter its full path.</extracomment>
            <translation>„{program}“ wurde nicht gefunden. Installieren Sie das Programm oder geben Sie den vollständigen Pfad ein.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/transports.py" />
            <source>tool_message_too_large</source>
            <extracomment>“{server}” was disconnected because it sent a message that was too large.</extracomment>
            <translation>„{server}“ hat eine zu große Nachricht gesendet und wurde getrennt.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/media_process.py" />
            <source>media_process</source>
            <extracomment>The process that reads images and PDFs can't start. Install Slipstream again.</extracomment>
            <translation>Der Prozess, der Bilder und PDFs liest, kann nicht gestartet werden. Installieren Sie Slipstream erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>document_bytes</source>
            <extracomment>The file “{name}” is too large. The limit for documents is {limit} MB. Divide it.</extracomment>
            <translation>Die Datei „{name}“ ist zu groß. Dokumente dürfen höchstens {limit} MB haben. Teilen Sie sie.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>document_damaged</source>
            <extracomment>“{name}” is damaged and can't be read. Save or export it again.</extracomment>
            <translation>„{name}“ ist beschädigt und kann nicht gelesen werden. Speichern oder exportieren Sie die Datei erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>document_memory</source>
            <extracomment>Reading “{name}” takes too much memory. Divide it.</extracomment>
            <translation>Das Lesen von „{name}“ benötigt zu viel Speicher. Teilen Sie die Datei.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>document_slow</source>
            <extracomment>“{name}” takes too long to read. Divide it, or save its text.</extracomment>
            <translation>Das Lesen von „{name}“ dauert zu lange. Teilen Sie die Datei, oder speichern Sie ihren Text.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>document_too_much_text</source>
            <extracomment>“{name}” has more than {limit:,} characters of text. Divide it.</extracomment>
            <translation>„{name}“ hat mehr als {limit:,} Zeichen Text. Teilen Sie die Datei.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>image_damaged</source>
            <extracomment>“{name}” is damaged and can't be read. Save or export it again.</extracomment>
            <translation>„{name}“ ist beschädigt und kann nicht gelesen werden. Sichern oder exportieren Sie es erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>image_memory</source>
            <extracomment>Reading “{name}” takes too much memory. Make it smaller, or save it as JPEG.</extracomment>
            <translation>Das Lesen von „{name}“ braucht zu viel Speicher. Verkleinern Sie das Bild, oder sichern Sie es als JPEG.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>image_mode</source>
            <extracomment>Can't read “{name}”, because its kind of color isn't supported. Save it as JPEG or PNG with 8 bits per channel.</extracomment>
            <translation>„{name}“ kann nicht gelesen werden, weil seine Farbart nicht unterstützt wird. Sichern Sie es als JPEG oder PNG mit 8 Bit pro Kanal.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>image_pixels</source>
            <extracomment>“{name}” is too large ({width:,} × {height:,} pixels). The limit is {limit} megapixels. Make it smaller.</extracomment>
            <translation>„{name}“ ist zu groß ({width:,} × {height:,} Pixel). Höchstens {limit} Megapixel sind möglich. Verkleinern Sie das Bild.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>image_slow</source>
            <extracomment>“{name}” takes too long to read. Make it smaller, or save it as JPEG.</extracomment>
            <translation>Das Lesen von „{name}“ dauert zu lange. Verkleinern Sie das Bild, oder sichern Sie es als JPEG.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>media_stopped</source>
            <extracomment>Reading “{name}” was stopped. Try again.</extracomment>
            <translation>Das Lesen von „{name}“ wurde abgebrochen. Versuchen Sie es noch einmal.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>pdf_bytes</source>
            <extracomment>The file “{name}” is too large. The limit for PDFs is {limit} MB. Attach part of it.</extracomment>
            <translation>Die Datei „{name}“ ist zu groß. PDFs dürfen bis zu {limit} MB groß sein. Hängen Sie einen Teil an.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>pdf_damaged</source>
            <extracomment>“{name}” is damaged and can't be read as a PDF. Export it again.</extracomment>
            <translation>„{name}“ ist beschädigt und kann nicht als PDF gelesen werden. Exportieren Sie es erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>pdf_locked</source>
            <extracomment>“{name}” is password-protected. Save a copy without a password and attach the copy.</extracomment>
            <translation>„{name}“ ist durch ein Passwort geschützt. Sichern Sie eine Kopie ohne Passwort und hängen Sie diese an.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>pdf_memory</source>
            <extracomment>Reading “{name}” takes too much memory. Attach part of it.</extracomment>
            <translation>Das Lesen von „{name}“ braucht zu viel Speicher. Hängen Sie einen Teil an.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>pdf_no_page</source>
            <extracomment>“{name}” has no page {number:,}. It has {pages:,} pages.</extracomment>
            <translation>„{name}“ hat keine Seite {number:,}, sondern {pages:,} Seiten.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>pdf_page_size</source>
            <extracomment>Page {number:,} of “{name}” has a size that can't be shown. Export the PDF again.</extracomment>
            <translation>Seite {number:,} von „{name}“ hat eine Größe, die nicht dargestellt werden kann. Exportieren Sie das PDF erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>pdf_too_many_pages</source>
            <extracomment>“{name}” has {pages:,} pages, and the limit is {limit:,}. Attach part of it.</extracomment>
            <translation>„{name}“ hat {pages:,} Seiten, und höchstens {limit:,} sind möglich. Hängen Sie einen Teil an.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>pdf_too_much_text</source>
            <extracomment>“{name}” has more than {limit:,} characters of text. Attach part of it.</extracomment>
            <translation>„{name}“ hat mehr als {limit:,} Zeichen Text. Hängen Sie einen Teil an.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>pdf_too_slow</source>
            <extracomment>“{name}” takes too long to read. Attach its text, or part of it.</extracomment>
            <translation>Das Lesen von „{name}“ dauert zu lange. Hängen Sie den Text oder einen Teil davon an.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/families.py" />
            <source>family_not_in_mlx_lm</source>
            <extracomment>The installed mlx-lm doesn't support the “{family}” family, so this model can't run. Choose another one.</extracomment>
            <translation>Das installierte mlx-lm unterstützt die Familie „{family}“ nicht, daher kann dieses Modell nicht laufen. Wählen Sie ein anderes.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/families.py" />
            <source>no_mlx_lm_model</source>
            <extracomment>{name} can't run: mlx-lm {version} doesn't support the “{family}” family. It needs a later release.</extracomment>
            <translation>{name} kann nicht ausgeführt werden: mlx-lm {version} unterstützt die Familie „{family}“ nicht. Nötig ist eine neuere Version.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/shardable.py" />
            <source>family_not_shardable</source>
            <extracomment>Models of the “{family}” family can't be divided among several computers (supported: {families}). Use one computer.</extracomment>
            <translation>Modelle der Familie „{family}“ können nicht auf mehrere Computer verteilt werden (unterstützt: {families}). Verwenden Sie einen Computer.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/shardable.py" />
            <source>size_not_shardable</source>
            <extracomment>This model can't be divided among several computers, because its “{field}” is {size:,}. Use one computer.</extracomment>
            <translation>Dieses Modell kann nicht auf mehrere Computer verteilt werden, weil „{field}“ {size:,} ist. Verwenden Sie einen Computer.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/shardable.py" />
            <source>sizes_not_shardable</source>
            <extracomment>This model can't be divided among {ranks} computers, because its “{field}” is {size:,}. Use {possible}.</extracomment>
            <translation>Dieses Modell kann nicht auf {ranks} Computer verteilt werden, weil „{field}“ {size:,} ist. Verwenden Sie {possible}.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/target_config.py" />
            <source>assistant_for_gemma</source>
            <extracomment>This drafter needs a Gemma 4 target. Choose another drafter.</extracomment>
            <translation>Dieser Drafter braucht ein Gemma-4-Zielmodell. Wählen Sie einen anderen Drafter.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/target_config.py" />
            <source>assistant_for_other_keys</source>
            <extracomment>This drafter needs {expected:,} keys and values per token, not {actual:,}. Choose another drafter.</extracomment>
            <translation>Dieser Drafter benötigt {expected:,} Keys und Values pro Token, nicht {actual:,}. Wählen Sie einen anderen Drafter.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/target_config.py" />
            <source>drafter_for_other_target</source>
            <extracomment>This drafter needs a target whose “{field}” is {expected:,}, not {actual:,}. Choose another drafter.</extracomment>
            <translation>Dieser Drafter braucht ein Zielmodell mit „{field}“ {expected:,}, nicht {actual:,}. Wählen Sie einen anderen Drafter.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/target_config.py" />
            <source>drafter_mask_token_missing</source>
            <extracomment>This drafter's mask token has ID {token}, but the target has only {tokens:,} tokens. Choose another drafter.</extracomment>
            <translation>Das Masken-Token dieses Drafters hat die ID {token}, aber das Zielmodell hat nur {tokens:,} Token. Wählen Sie einen anderen Drafter.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/target_config.py" />
            <source>drafter_reads_missing_layer</source>
            <extracomment>This drafter reads layer {layer:,}, but the target has only {layers:,} layers. Choose another drafter.</extracomment>
            <translation>Dieser Drafter liest Schicht {layer:,}, aber das Zielmodell hat nur {layers:,} Schichten. Wählen Sie einen anderen Drafter.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/target_config.py" />
            <source>family_without_dflash</source>
            <extracomment>DFlash isn't available for the “{family}” family yet (supported: {families}).</extracomment>
            <translation>DFlash ist für die Familie „{family}“ noch nicht verfügbar (unterstützt: {families}).</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/target_config.py" />
            <source>target_format_unsupported</source>
            <extracomment>The target's quantization format “{method}” isn't supported. Choose an MLX version, such as mlx-community's.</extracomment>
            <translation>Das Quantisierungsformat „{method}“ des Zielmodells wird nicht unterstützt. Wählen Sie eine MLX-Version, etwa die von mlx-community.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/target_config.py" />
            <source>target_needs_code</source>
            <extracomment>The target requires custom Python code, which Slipstream never runs. Choose another target.</extracomment>
            <translation>Das Zielmodell erfordert eigenen Python-Code, den Slipstream nie ausführt. Wählen Sie ein anderes Zielmodell.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/target_config.py" />
            <source>target_too_many_layers</source>
            <extracomment>The target declares more than {most:,} layers. Choose another target.</extracomment>
            <translation>Das Zielmodell gibt mehr als {most:,} Schichten an. Wählen Sie ein anderes Zielmodell.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/target_config.py" />
            <source>target_without_model_type</source>
            <extracomment>The target's config.json has no “model_type”. Choose a language model.</extracomment>
            <translation>Die config.json des Zielmodells enthält kein „model_type“. Wählen Sie ein Sprachmodell.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download.py" />
            <source>drafter_is_whole_model</source>
            <extracomment>“{repo}” is a whole model. Enter {head} to download only its MTP head.</extracomment>
            <translation>„{repo}“ ist ein vollständiges Modell. Geben Sie {head} ein, um nur seinen MTP-Kopf zu laden.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download.py" />
            <source>held_target_gone</source>
            <extracomment>The target isn't in “{folder}” any more. Cancel this download, then download the whole pair.</extracomment>
            <translation>Das Zielmodell ist nicht mehr in „{folder}“. Brechen Sie diesen Download ab, und laden Sie dann das ganze Paar.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download.py" />
            <source>hub_retrying</source>
            <extracomment>{endpoint} isn't responding. Trying again for up to {seconds:.0f} s.</extracomment>
            <translation>{endpoint} antwortet nicht. Bis zu {seconds:.0f} s lang wird es erneut versucht.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download.py" />
            <source>newer_revision</source>
            <extracomment>A newer revision of {repo} is available. Download the pair again to update.</extracomment>
            <translation>Von {repo} gibt es eine neuere Revision. Laden Sie das Paar erneut, um sie zu erhalten.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download.py" />
            <source>published_file_damaged</source>
            <extracomment>The published copy of {file} in {repo} is damaged. Choose another repo.</extracomment>
            <translation>Die veröffentlichte Kopie von {file} in {repo} ist beschädigt. Wählen Sie ein anderes Repo.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download.py" />
            <source>repo_keeps_changing</source>
            <extracomment>{pair} keeps changing on the hub. Downloaded data is kept. Try again later.</extracomment>
            <translation>{pair} ändert sich im Hub ständig. Versuchen Sie es später erneut; geladene Daten bleiben erhalten.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download.py" />
            <source>repo_renamed</source>
            <extracomment>{repo} was renamed to {new}. Your copy keeps the old name.</extracomment>
            <translation>{repo} wurde in {new} umbenannt. Ihre Kopie behält den alten Namen.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download.py" />
            <source>repo_revised</source>
            <extracomment>{repo} was revised during the download. Changed files are being downloaded again.</extracomment>
            <translation>{repo} wurde während des Downloads überarbeitet. Geänderte Dateien werden erneut geladen.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download.py" />
            <source>repo_tokenizer_needs_code</source>
            <extracomment>The tokenizer in {repo} requires custom Python code, which Slipstream never runs. Choose another target.</extracomment>
            <translation>Der Tokenizer in {repo} erfordert eigenen Python-Code, den Slipstream nie ausführt. Wählen Sie ein anderes Zielmodell.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download.py" />
            <source>repo_without_tokenizer</source>
            <extracomment>{repo} has no tokenizer. Choose a complete model.</extracomment>
            <translation>{repo} hat keinen Tokenizer. Wählen Sie ein vollständiges Modell.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download.py" />
            <source>repo_without_weights</source>
            <extracomment>{repo} has no safetensors weights. Choose another repo, such as one from mlx-community.</extracomment>
            <translation>{repo} hat keine safetensors-Gewichte. Wählen Sie ein anderes Repo, etwa eines von mlx-community.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download.py" />
            <source>target_is_drafter</source>
            <extracomment>“{repo}” is a drafter ({kind}), which can't run alone. Enter it as the drafter of its target.</extracomment>
            <translation>„{repo}“ ist ein Drafter ({kind}), der nicht allein laufen kann. Geben Sie ihn als Drafter seines Targets ein.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download_queue.py" />
            <source>download_bug</source>
            <extracomment>Something went wrong in Slipstream ({error}). Downloaded data is kept. Please report this problem.</extracomment>
            <translation>In Slipstream ist ein Fehler aufgetreten ({error}). Bitte melden Sie das Problem; geladene Daten bleiben erhalten.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download_queue.py" />
            <source>download_io_error</source>
            <extracomment>Can't read or write “{path}” ({reason}). Fix the problem, then resume the download.</extracomment>
            <translation>„{path}“ kann nicht gelesen oder geschrieben werden ({reason}). Beheben Sie das Problem, und setzen Sie den Download dann fort.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download_queue.py" />
            <source>invalid_queue_command</source>
            <extracomment>“{command}” isn't a valid queue command.</extracomment>
            <translation>„{command}“ ist kein gültiger Befehl der Warteschlange.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download_queue.py" />
            <source>queue_in_use</source>
            <extracomment>Another copy of Slipstream is already downloading. Use that copy to manage downloads.</extracomment>
            <translation>Ein anderes Slipstream lädt bereits. Verwalten Sie die Downloads dort.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download_queue.py" />
            <source>queue_locked</source>
            <extracomment>Another program is using the download queue. Quit it, then try again.</extracomment>
            <translation>Ein anderes Programm verwendet die Download-Warteschlange. Beenden Sie es, und versuchen Sie es erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>file_gone</source>
            <extracomment>A file in {repo} no longer exists. Start the download again.</extracomment>
            <translation>Eine Datei in {repo} gibt es nicht mehr. Starten Sie den Download erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>file_not_in_repo</source>
            <extracomment>{repo} has no {file}, so it isn't a model. Choose another repo.</extracomment>
            <translation>{repo} enthält keine {file} und ist daher kein Modell. Wählen Sie ein anderes Repo.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>file_not_object</source>
            <extracomment>{file} in {repo} isn't a JSON object. Choose another repo.</extracomment>
            <translation>{file} in {repo} ist kein JSON-Objekt. Wählen Sie ein anderes Repo.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>file_refused</source>
            <extracomment>The hub refused the request for {file} in {repo} (status {status}). Try again later.</extracomment>
            <translation>Der Hub hat die Anfrage nach {file} in {repo} abgelehnt (Status {status}). Versuchen Sie es später erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>file_too_large</source>
            <extracomment>{file} in {repo} is too large to be valid. Choose another repo.</extracomment>
            <translation>{file} in {repo} ist zu groß, um gültig zu sein. Wählen Sie ein anderes Repo.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>hub_answer_too_large</source>
            <extracomment>The hub's response for {repo} is too large. Try another mirror.</extracomment>
            <translation>Die Antwort des Hubs für {repo} ist zu groß. Versuchen Sie einen anderen Spiegel.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>hub_busy</source>
            <extracomment>The hub is busy or down (status {status}). Try again in a few minutes.</extracomment>
            <translation>Der Hub ist ausgelastet oder gestört (Status {status}). Versuchen Sie es in einigen Minuten erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>hub_offline</source>
            <extracomment>Slipstream was started without access to the model hub. Quit Slipstream, then open it normally.</extracomment>
            <translation>Slipstream wurde ohne Zugriff auf den Modell-Hub gestartet. Beenden Sie Slipstream, und öffnen Sie es wie gewohnt.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>hub_unreachable</source>
            <extracomment>Can't reach {endpoint}. Check your network connection.</extracomment>
            <translation>{endpoint} ist nicht erreichbar. Prüfen Sie Ihre Netzwerkverbindung.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>invalid_endpoint</source>
            <extracomment>“{endpoint}” isn't a valid hub address. Correct it in Settings ▸ Models.</extracomment>
            <translation>„{endpoint}“ ist keine Adresse eines Hubs. Korrigieren Sie den Modell-Hub unter Einstellungen ▸ Modelle.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>invalid_hub_answer</source>
            <extracomment>The hub's response for {repo} is invalid ({reason}). Try again later, or use another mirror.</extracomment>
            <translation>Die Antwort des Hubs zu {repo} ist ungültig ({reason}). Versuchen Sie es später erneut, oder verwenden Sie einen anderen Spiegel.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>invalid_mirror</source>
            <extracomment>“{address}” isn't a web address. Enter one that starts with https://.</extracomment>
            <translation>„{address}“ ist keine Webadresse. Geben Sie eine ein, die mit https:// beginnt.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>invalid_token</source>
            <extracomment>This isn't a valid access token. Create one at {endpoint}/settings/tokens.</extracomment>
            <translation>Das ist kein gültiges Zugriffstoken. Erstellen Sie eines unter {endpoint}/settings/tokens.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>malformed_token</source>
            <extracomment>The access token in {source} isn't valid. Correct it or remove it.</extracomment>
            <translation>Das Zugriffstoken in {source} ist ungültig. Korrigieren oder entfernen Sie es.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>no_commit</source>
            <extracomment>The hub provides no commit for {repo}. Try another mirror, or try again later.</extracomment>
            <translation>Der Hub nennt keinen Commit für {repo}. Versuchen Sie einen anderen Spiegel, oder versuchen Sie es später.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>no_keychain</source>
            <extracomment>Can't store the token: this system has no keychain ({reason}).</extracomment>
            <translation>Dieses System hat keinen Schlüsselbund für das Token ({reason}), daher kann es nicht gesichert werden.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>no_ranges</source>
            <extracomment>The server of {file} can't send parts of files, so the MTP head of {repo} can't be downloaded. Choose another drafter.</extracomment>
            <translation>Der Server von {file} kann keine Teile von Dateien senden, daher kann der MTP-Kopf von {repo} nicht geladen werden. Wählen Sie einen anderen Drafter.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>proxy_refused</source>
            <extracomment>The proxy refused the connection to {endpoint} ({reason}). Check the proxy in the system's network settings.</extracomment>
            <translation>Der Proxy hat die Verbindung zu {endpoint} abgelehnt ({reason}). Prüfen Sie den Proxy in den Netzwerkeinstellungen des Systems.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>repo_disabled</source>
            <extracomment>{repo} was disabled on the hub. Choose another pair.</extracomment>
            <translation>{repo} wurde im Hub gesperrt. Wählen Sie ein anderes Paar.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>repo_gated</source>
            <extracomment>{repo} is gated. Accept its conditions at {page}, then enter your access token in Settings ▸ Models.</extracomment>
            <translation>Der Zugang zu {repo} ist beschränkt. Stimmen Sie den Bedingungen unter {page} zu. Geben Sie dann Ihr Zugriffstoken unter Einstellungen ▸ Modelle ein.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>repo_gated_for_account</source>
            <extracomment>Your account can't access {repo} yet. Request access at {page}, and use a token that can read gated repos.</extracomment>
            <translation>Ihr Konto hat noch keinen Zugang zu {repo}. Beantragen Sie ihn auf {page}, und verwenden Sie ein Token, das Repos mit beschränktem Zugang lesen darf.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>repo_not_found</source>
            <extracomment>Can't find {repo} at {endpoint} with your access token. Check the spelling and the token's permissions.</extracomment>
            <translation>{repo} wurde unter {endpoint} mit Ihrem Zugriffstoken nicht gefunden. Prüfen Sie die Schreibweise und die Rechte des Tokens.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>repo_not_found_or_private</source>
            <extracomment>Can't find {repo} at {endpoint}. Check the spelling, or enter an access token in Settings ▸ Models if it is private.</extracomment>
            <translation>{repo} ist unter {endpoint} nicht zu finden. Prüfen Sie die Schreibweise. Ist es privat, geben Sie unter Einstellungen ▸ Modelle ein Zugriffstoken ein.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>revised_meanwhile</source>
            <extracomment>{repo} was revised during the download. Start the download again.</extracomment>
            <translation>{repo} wurde während des Downloads überarbeitet. Starten Sie den Download erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>revision_gone</source>
            <extracomment>{repo} no longer has this revision. Start the download again.</extracomment>
            <translation>{repo} enthält diese Revision nicht mehr. Starten Sie den Download erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>token_rejected</source>
            <extracomment>The hub rejected your access token. Create a new one at {endpoint}/settings/tokens, then enter it in Settings ▸ Models.</extracomment>
            <translation>Der Hub lehnt Ihr Zugriffstoken ab. Erstellen Sie ein neues unter {endpoint}/settings/tokens, und geben Sie es unter Einstellungen ▸ Modelle ein.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>token_without_access</source>
            <extracomment>Your access token isn't allowed to read {repo}. See {page} for the requirements.</extracomment>
            <translation>Ihr Zugriffstoken darf {repo} nicht lesen. Die Voraussetzungen finden Sie auf {page}.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>unknown_token</source>
            <extracomment>{endpoint} rejected this access token. Create a new one at {endpoint}/settings/tokens.</extracomment>
            <translation>{endpoint} hat dieses Zugriffstoken abgelehnt. Erstellen Sie ein neues unter {endpoint}/settings/tokens.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>unsafe_redirect</source>
            <extracomment>{endpoint} redirected a request to an unsafe address. Try another mirror.</extracomment>
            <translation>{endpoint} hat eine Anfrage an eine unsichere Adresse umgeleitet. Versuchen Sie einen anderen Spiegel.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>untrusted_certificate</source>
            <extracomment>The certificate for {endpoint} isn't trusted. Install your proxy's certificate on this computer.</extracomment>
            <translation>Dieses System vertraut dem Zertifikat von {endpoint} nicht. Fügen Sie das Zertifikat Ihres Proxys zum System hinzu.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/matching.py" />
            <source>drafter_for_target</source>
            <extracomment>For {target}, use the drafter {drafter}.</extracomment>
            <translation>Verwenden Sie für {target} den Drafter {drafter}.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/matching.py" />
            <source>drafter_not_found</source>
            <extracomment>No drafter for {target} was found in the catalog, on this disk, or on the hub.</extracomment>
            <translation>Weder im Katalog noch auf diesem Volume oder im Hub wurde ein Drafter für {target} gefunden.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/matching.py" />
            <source>no_fitting_drafter</source>
            <extracomment>{drafter} isn't compatible with {target}: {reason}</extracomment>
            <translation>{drafter} passt nicht zu {target}: {reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/matching.py" />
            <source>no_local_drafter</source>
            <extracomment>No drafter for “{target}” was found on this disk.</extracomment>
            <translation>Auf diesem Volume wurde kein Drafter für „{target}“ gefunden.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/matching.py" />
            <source>target_for_drafter</source>
            <extracomment>{drafter} was made for {name}, such as {target}.</extracomment>
            <translation>{drafter} wurde für {name} erstellt, etwa {target}.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/model_move.py" />
            <source>copy_damaged</source>
            <extracomment>The copy “{path}” doesn't match the original. Your models are unchanged. Check the disk.</extracomment>
            <translation>Die Kopie „{path}“ stimmt nicht mit dem Original überein. Prüfen Sie das Volume; Ihre Modelle sind unverändert.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/model_move.py" />
            <source>downloads_in_use</source>
            <extracomment>Another copy of Slipstream is downloading or moving models. Quit it, then try again.</extracomment>
            <translation>Ein anderes Slipstream lädt oder verschiebt gerade Modelle. Beenden Sie es, und versuchen Sie es erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/model_move.py" />
            <source>file_changed_during_move</source>
            <extracomment>“{path}” changed during the move, so it was not moved.</extracomment>
            <translation>„{path}“ wurde während des Verschiebens geändert und daher nicht verschoben.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/model_move.py" />
            <source>folder_set_by_environment</source>
            <extracomment>The model folder is set outside Slipstream ({variable}). Change it there.</extracomment>
            <translation>Der Modellordner ist außerhalb von Slipstream festgelegt ({variable}). Ändern Sie ihn dort.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/model_move.py" />
            <source>folders_nested</source>
            <extracomment>“{new}” and “{old}” overlap. Choose a folder that isn't inside “{old}” and doesn't contain it.</extracomment>
            <translation>„{new}“ und „{old}“ überschneiden sich. Wählen Sie einen Ordner außerhalb des anderen.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/model_move.py" />
            <source>link_not_moved</source>
            <extracomment>“{path}” is a link to another location, so it was not moved.</extracomment>
            <translation>„{path}“ ist ein Link auf einen anderen Ort und wurde daher nicht verschoben.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/model_move.py" />
            <source>models_already_there</source>
            <extracomment>The models are already in “{folder}”. Choose another folder.</extracomment>
            <translation>Die Modelle sind bereits in „{folder}“. Wählen Sie einen anderen Ordner.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/model_move.py" />
            <source>move_failed</source>
            <extracomment>Can't read or write “{path}” ({reason}). Your models are unchanged.</extracomment>
            <translation>„{path}“ kann nicht gelesen oder geschrieben werden ({reason}). Ihre Modelle sind unverändert.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/model_move.py" />
            <source>not_a_folder</source>
            <extracomment>“{path}” isn't a folder. Choose a folder.</extracomment>
            <translation>„{path}“ ist kein Ordner. Wählen Sie einen Ordner.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/model_move.py" />
            <source>old_models_left</source>
            <extracomment>Can't remove “{path}” ({reason}). Delete the copies in “{old}”, or move the models to “{new}” again.</extracomment>
            <translation>„{path}“ kann nicht entfernt werden ({reason}). Löschen Sie die Kopien in „{old}“, oder verschieben Sie die Modelle erneut nach „{new}“.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/model_move.py" />
            <source>path_not_absolute</source>
            <extracomment>“{path}” isn't a full path. Enter a path that starts with /.</extracomment>
            <translation>„{path}“ ist kein vollständiger Pfad. Geben Sie einen Pfad ein, der mit / beginnt.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/mtp_listing.py" />
            <source>no_mtp_head</source>
            <extracomment>{repo} has no MTP head. Choose another drafter.</extracomment>
            <translation>{repo} hat keinen MTP-Kopf. Wählen Sie einen anderen Drafter.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/transfer.py" />
            <source>content_refused</source>
            <extracomment>The download server refused {file} in {repo} (status {status}). Downloaded data is kept. Try again later.</extracomment>
            <translation>Der Inhaltsserver hat {file} in {repo} verweigert (Status {status}). Versuchen Sie es später erneut; geladene Daten bleiben erhalten.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/transfer.py" />
            <source>disk_full</source>
            <extracomment>The disk that contains “{folder}” is full. Downloaded data is kept. Free up {missing:,.2f} GB, then resume.</extracomment>
            <translation>Das Volume mit „{folder}“ ist voll. Geben Sie {missing:,.2f} GB frei, und setzen Sie den Download dann fort; geladene Daten bleiben erhalten.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/transfer.py" />
            <source>disk_without_large_files</source>
            <extracomment>The disk that contains “{folder}” doesn't support files this large. Move the model folder to another disk.</extracomment>
            <translation>Das Volume von „{folder}“ kann keine so großen Dateien speichern. Verschieben Sie den Modellordner auf ein anderes Volume.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/transfer.py" />
            <source>downloaded_elsewhere</source>
            <extracomment>Another program is also downloading {repo}. Each file is downloaded only once.</extracomment>
            <translation>Ein anderes Programm lädt {repo} ebenfalls. Keine Datei wird doppelt geladen.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/transfer.py" />
            <source>file_damaged</source>
            <extracomment>{file} was corrupted during download and is being downloaded again.</extracomment>
            <translation>{file} wurde beim Download beschädigt und wird erneut geladen.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/transfer.py" />
            <source>file_damaged_twice</source>
            <extracomment>{file} in {repo} was corrupted in two downloads and has been deleted. Try again later, or use another mirror.</extracomment>
            <translation>{file} in {repo} wurde beim Laden zweimal beschädigt und gelöscht. Versuchen Sie es später erneut, oder verwenden Sie einen anderen Spiegel.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/transfer.py" />
            <source>host_cannot_resume</source>
            <extracomment>The host of {file} can't resume downloads, so this one starts over.</extracomment>
            <translation>Der Server von {file} kann Downloads nicht fortsetzen, daher wird die Datei von Anfang an geladen.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/transfer.py" />
            <source>hub_cut_off</source>
            <extracomment>The model hub cuts off its responses. Trying again.</extracomment>
            <translation>Der Modell-Hub bricht seine Antworten ab. Es wird erneut versucht.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/transfer.py" />
            <source>hub_cuts_off</source>
            <extracomment>{endpoint} has cut off every response for {seconds:.0f} seconds. Downloaded data is kept. Check your network and proxy, then resume the download.</extracomment>
            <translation>{endpoint} hat seit {seconds:.0f} Sekunden jede Antwort abgebrochen. Bereits Geladenes bleibt erhalten. Prüfen Sie Netzwerk und Proxy, und setzen Sie den Download dann fort.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/transfer.py" />
            <source>hub_silent</source>
            <extracomment>The model hub isn't responding. Trying again.</extracomment>
            <translation>Der Modell-Hub antwortet nicht. Es wird erneut versucht.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/transfer.py" />
            <source>hub_timeout</source>
            <extracomment>{endpoint} hasn't responded for {seconds:.0f} seconds. Check your network, then resume the download.</extracomment>
            <translation>{endpoint} antwortet seit {seconds:.0f} Sekunden nicht. Prüfen Sie Ihr Netzwerk, und setzen Sie den Download dann fort.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/transfer.py" />
            <source>link_expired</source>
            <extracomment>The download link has expired. Try again.</extracomment>
            <translation>Der Download-Link ist abgelaufen. Versuchen Sie es erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/chat_template.py" />
            <source>completes_only</source>
            <extracomment>This model has no chat template, so it can't chat. It can only continue text, through the local server's /v1/completions. To chat, choose an instruction-tuned model.</extracomment>
            <translation>Dieses Modell hat keine Chat-Vorlage und kann daher nicht chatten. Es kann nur Text fortsetzen, über /v1/completions des lokalen Servers. Wählen Sie zum Chatten ein auf Anweisungen trainiertes Modell.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/chat_template.py" />
            <source>no_chat_template</source>
            <extracomment>This model has no chat template, so it can't chat. Choose an instruction-tuned model.</extracomment>
            <translation>Dieses Modell hat keine Chat-Vorlage und kann daher nicht chatten. Wählen Sie ein auf Anweisungen trainiertes Modell.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/checkpoint.py" />
            <source>damaged_weights</source>
            <extracomment>“{name}” is damaged or incomplete. Download the model again.</extracomment>
            <translation>„{name}“ ist beschädigt oder unvollständig. Laden Sie das Modell erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/checkpoint.py" />
            <source>invalid_config</source>
            <extracomment>“{path}” isn't a valid model config. Download the model again.</extracomment>
            <translation>„{path}“ ist keine gültige Modellkonfiguration. Laden Sie das Modell erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/checkpoint.py" />
            <source>model_file_too_large</source>
            <extracomment>“{path}” is too large ({size:,.0f} MB, limit {limit:,.0f} MB). Download the model again, or choose another one.</extracomment>
            <translation>„{path}“ ist zu groß ({size:,.0f} MB, Grenze {limit:,.0f} MB). Laden Sie das Modell erneut, oder wählen Sie ein anderes.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/checkpoint.py" />
            <source>no_checkpoint_folder</source>
            <extracomment>Can't find the folder “{folder}”. Choose a folder with a model's config.json and weights.</extracomment>
            <translation>Der Ordner „{folder}“ wurde nicht gefunden. Wählen Sie einen Ordner mit der config.json und den Gewichten eines Modells.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/checkpoint.py" />
            <source>no_config</source>
            <extracomment>“{folder}” has no config.json, so it isn't a complete model. Choose another folder.</extracomment>
            <translation>„{folder}“ enthält keine config.json und ist daher kein vollständiges Modell. Wählen Sie einen anderen Ordner.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/checkpoint.py" />
            <source>no_weights</source>
            <extracomment>“{folder}” has no weights (model*.safetensors). Download the model again, or choose another folder.</extracomment>
            <translation>„{folder}“ enthält keine Gewichte (model*.safetensors). Laden Sie das Modell erneut, oder wählen Sie einen anderen Ordner.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/checkpoint.py" />
            <source>weights_format_unknown</source>
            <extracomment>MLX can't read “{tensor}” in “{file}”, which is stored as {format}. Choose another model.</extracomment>
            <translation>MLX kann „{tensor}“ in „{file}“ nicht lesen, weil der Tensor als {format} gespeichert ist. Wählen Sie ein anderes Modell.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/checkpoint.py" />
            <source>weights_missing</source>
            <extracomment>“{folder}” is missing weight files, such as {file}. Existing files are kept. Download the model again.</extracomment>
            <translation>In „{folder}“ fehlen Gewichtsdateien, etwa {file}. Laden Sie das Modell erneut; vorhandene Dateien bleiben erhalten.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/hub_cache.py" />
            <source>link_leads_out</source>
            <extracomment>“{path}” is a link that points outside the model folder. Remove the link, then try again.</extracomment>
            <translation>„{path}“ ist ein Link, der aus dem Modellordner hinausführt. Entfernen Sie den Link, und versuchen Sie es erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/hub_cache.py" />
            <source>model_folder_gone</source>
            <extracomment>Can't find the model folder “{folder}”. Connect its disk, or choose another folder.</extracomment>
            <translation>Der Modellordner „{folder}“ wurde nicht gefunden. Schließen Sie sein Volume an, oder wählen Sie einen anderen Ordner.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/hub_cache.py" />
            <source>model_folder_missing</source>
            <extracomment>“{path}” doesn't contain a folder path.</extracomment>
            <translation>„{path}“ enthält keinen Ordnerpfad.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/hub_cache.py" />
            <source>model_folder_unknown</source>
            <extracomment>For now, Slipstream is using “{folder}” for models: {reason}</extracomment>
            <translation>Slipstream sucht die Modelle vorerst in „{folder}“: {reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/hub_cache.py" />
            <source>models_moved</source>
            <extracomment>The models were moved to “{folder}”. Try again.</extracomment>
            <translation>Die Modelle wurden nach „{folder}“ verschoben. Versuchen Sie es erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/hub_cache.py" />
            <source>models_moving</source>
            <extracomment>The models are being moved to another folder. Wait for the move to finish, then try again.</extracomment>
            <translation>Die Modelle werden gerade in einen anderen Ordner verschoben. Warten Sie, bis das Verschieben beendet ist, und versuchen Sie es dann erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/hub_cache.py" />
            <source>no_space</source>
            <extracomment>The disk that contains “{folder}” has only {free:,.2f} GB free, but {needed:,.2f} GB are needed. Free up space first.</extracomment>
            <translation>Das Volume mit „{folder}“ benötigt {needed:,.2f} GB freien Speicherplatz, hat aber nur {free:,.2f} GB. Geben Sie zuerst Speicherplatz frei.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/hub_cache.py" />
            <source>repo_being_downloaded</source>
            <extracomment>{repo} is being downloaded. Stop the download or wait for it to finish, then try again.</extracomment>
            <translation>{repo} wird gerade geladen. Stoppen Sie den Download, oder warten Sie, bis er fertig ist, und versuchen Sie es dann erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/hub_cache.py" />
            <source>repo_purged</source>
            <extracomment>{repo} can no longer be restored. Download it again.</extracomment>
            <translation>{repo} kann nicht mehr wiederhergestellt werden. Laden Sie es erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/loadable.py" />
            <source>drafter_not_usable</source>
            <extracomment>{reason} Load the target without a drafter to use plain decoding.</extracomment>
            <translation>{reason} Laden Sie das Zielmodell ohne Drafter, um ohne DFlash zu dekodieren.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/loadable.py" />
            <source>model_gone</source>
            <extracomment>Can't find the folder “{folder}”. If another app deleted the model, choose another one, or download it.</extracomment>
            <translation>Der Ordner „{folder}“ wurde nicht gefunden. Wenn eine andere App das Modell gelöscht hat, wählen Sie ein anderes oder laden Sie es.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/loadable.py" />
            <source>no_tokenizer</source>
            <extracomment>The model in “{folder}” has no tokenizer (tokenizer.json). Download it again.</extracomment>
            <translation>Das Modell in „{folder}“ hat keinen Tokenizer (tokenizer.json). Laden Sie es erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/loadable.py" />
            <source>tokenizer_needs_code</source>
            <extracomment>The tokenizer of “{name}” requires custom Python code ({code}), which Slipstream never runs. Choose a copy of the model that has a tokenizer.json.</extracomment>
            <translation>Der Tokenizer von „{name}“ erfordert eigenen Python-Code ({code}), den Slipstream nie ausführt. Wählen Sie eine Kopie des Modells mit tokenizer.json.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/locks.py" />
            <source>repo_being_removed</source>
            <extracomment>Another program is removing {repo}. Try again in a moment.</extracomment>
            <translation>Ein anderes Programm entfernt gerade {repo}. Versuchen Sie es gleich noch einmal.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/mtp_head.py" />
            <source>damaged_weights_header</source>
            <extracomment>The header of “{file}” is damaged. Download it again.</extracomment>
            <translation>Der Anfang von „{file}“ ist beschädigt. Laden Sie die Datei erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/mtp_head.py" />
            <source>head_tensor_not_usable</source>
            <extracomment>Can't use “{tensor}” in {file}, which is stored as {dtype}. Choose another drafter.</extracomment>
            <translation>„{tensor}“ in {file} ist als {dtype} gespeichert und kann nicht verwendet werden. Wählen Sie einen anderen Drafter.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/repo.py" />
            <source>files_collide</source>
            <extracomment>{repo} contains {first} and {second}, which are the same file on a Mac. Choose another repo.</extracomment>
            <translation>{repo} enthält {first} und {second}, die auf einem Mac dieselbe Datei sind. Wählen Sie ein anderes Repo.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/repo.py" />
            <source>invalid_repo_name</source>
            <extracomment>{name} isn't a repo name. Use the form OWNER/NAME, such as mlx-community/Qwen3-4B-bf16.</extracomment>
            <translation>{name} ist kein Repo-Name. Verwenden Sie die Form BESITZER/NAME, etwa mlx-community/Qwen3-4B-bf16.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/repo.py" />
            <source>invalid_revision</source>
            <extracomment>{name} isn't a revision. Use a branch, tag, or commit ID.</extracomment>
            <translation>{name} ist keine Revision. Verwenden Sie einen Branch, ein Tag oder eine Commit-ID.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/repo.py" />
            <source>no_file_checksum</source>
            <extracomment>The hub provides no checksum for {file} in {repo}. Try another mirror, or try again later.</extracomment>
            <translation>Der Hub liefert keine Prüfsumme für {file} in {repo}. Versuchen Sie einen anderen Spiegel, oder versuchen Sie es später erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/repo.py" />
            <source>no_file_size</source>
            <extracomment>The hub provides no size for {file} in {repo}. Try again later.</extracomment>
            <translation>Der Hub liefert keine Größe für {file} in {repo}. Versuchen Sie es später erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/repo.py" />
            <source>too_many_files</source>
            <extracomment>{repo} lists {count:,} files, but a model has at most {most:,}. Choose another repo.</extracomment>
            <translation>{repo} listet {count:,} Dateien auf, ein Modell hat aber höchstens {most:,}. Wählen Sie ein anderes Repo.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/repo.py" />
            <source>unsafe_file_name</source>
            <extracomment>{repo} contains a file named {name}, which points outside its folder. Choose another repo.</extracomment>
            <translation>{repo} enthält eine Datei namens {name}, die aus dem Ordner hinausführt. Wählen Sie ein anderes Repo.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/tuning_files.py" />
            <source>adapter_damaged</source>
            <extracomment>The tuned drafter in {file} is damaged, so it isn't used. Delete the file, or tune again.</extracomment>
            <translation>Der angepasste Drafter in {file} ist beschädigt und wird daher nicht verwendet. Löschen Sie die Datei, oder passen Sie den Drafter erneut an.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/tuning_files.py" />
            <source>tuning_already</source>
            <extracomment>This drafter is already being tuned. Wait for it to finish, then try again.</extracomment>
            <translation>Dieser Drafter wird bereits angepasst. Warten Sie, bis das abgeschlossen ist, und versuchen Sie es dann erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/fit.py" />
            <source>fit_crowded</source>
            <extracomment>At {context:,} tokens, this pair needs {needed}, but only {free} is free. Quit other apps first.</extracomment>
            <translation>Bei {context:,} Token benötigt dieses Paar {needed}, aber nur {free} sind frei. Beenden Sie zuerst andere Apps.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/fit.py" />
            <source>fit_no</source>
            <extracomment>At {context:,} tokens, this pair needs {needed}, more than the {limit} that this machine can allocate.</extracomment>
            <translation>Bei {context:,} Token benötigt dieses Paar {needed}, mehr als die {limit}, die dieser Computer bereitstellen kann.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/fit.py" />
            <source>fit_ok</source>
            <extracomment>At {context:,} tokens, this pair needs {needed} of the {budget} available to models.</extracomment>
            <translation>Bei {context:,} Token benötigt dieses Paar {needed} der {budget}, die für Modelle verfügbar sind.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/fit.py" />
            <source>fit_unknown</source>
            <extracomment>The memory use of this pair is unknown because its config.json is missing required fields.</extracomment>
            <translation>Der Speicherbedarf dieses Paars ist unbekannt, weil in seiner config.json Felder fehlen.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/fit.py" />
            <source>fit_will_swap</source>
            <extracomment>At {context:,} tokens, this pair needs {needed}, more than the {budget} available to models. Replies would be very slow.</extracomment>
            <translation>Bei {context:,} Token benötigt dieses Paar {needed}, mehr als die {budget}, die für Modelle verfügbar sind. Antworten wären sehr langsam.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/catalog.py" />
            <source>bits_not_offered</source>
            <extracomment>{name} isn't available at {bits} bits. Choose from {available}.</extracomment>
            <translation>{name} gibt es nicht mit {bits} Bit. Wählen Sie aus {available}.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/catalog.py" />
            <source>catalog_entry_ignored</source>
            <extracomment>Entry {number} in “{file}” is ignored: {reason}</extracomment>
            <translation>Eintrag {number} in „{file}“ wird ignoriert: {reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/catalog.py" />
            <source>catalog_not_list</source>
            <extracomment>“{file}” isn't a list of pairs, so it is ignored.</extracomment>
            <translation>„{file}“ ist keine Liste von Paaren und wird daher ignoriert.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/catalog.py" />
            <source>catalog_repos_unknown</source>
            <extracomment>This pair's repo names aren't known yet.</extracomment>
            <translation>Die Repo-Namen dieses Paars sind noch nicht bekannt.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/catalog.py" />
            <source>invalid_catalog_field</source>
            <extracomment>“{field}” is missing or invalid.</extracomment>
            <translation>„{field}“ fehlt oder ist ungültig.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/catalog.py" />
            <source>not_in_catalog</source>
            <extracomment>“{id}” isn't in the catalog (similar: {similar}). Choose another pair.</extracomment>
            <translation>„{id}“ ist nicht im Katalog. Ähnlich: {similar}.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/catalog.py" />
            <source>pair_is_built_in</source>
            <extracomment>{name} comes with Slipstream and can't be downloaded or removed.</extracomment>
            <translation>{name} gehört zu Slipstream und kann weder geladen noch entfernt werden.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/catalog.py" />
            <source>pair_not_downloadable</source>
            <extracomment>{name} can't be downloaded. {reason}</extracomment>
            <translation>{name} kann nicht geladen werden. {reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/identity.py" />
            <source>folder_of_other_bits</source>
            <extracomment>Despite its name, it isn't {repo}: its weights have {bits} bits.</extracomment>
            <translation>Trotz seines Namens ist es nicht {repo}: Seine Gewichte haben {bits} Bits.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/identity.py" />
            <source>folder_of_other_family</source>
            <extracomment>Despite its name, it isn't {repo}: its family is “{family}”.</extracomment>
            <translation>Trotz seines Namens ist es nicht {repo}: Seine Familie ist „{family}“.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/library.py" />
            <source>folder_not_added</source>
            <extracomment>“{path}” isn't one of the folders you added. Choose from: {folders}.</extracomment>
            <translation>„{path}“ gehört nicht zu Ihren hinzugefügten Ordnern. Wählen Sie aus: {folders}.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/library.py" />
            <source>no_such_folder</source>
            <extracomment>Can't find the folder “{path}”. Choose another folder.</extracomment>
            <translation>Der Ordner „{path}“ wurde nicht gefunden. Wählen Sie einen anderen Ordner.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/speeds.py" />
            <source>speed_measured</source>
            <extracomment>Measured in the last {count} replies on this machine; the median is {median} tok/s.</extracomment>
            <translation>In den letzten {count} Antworten auf diesem Computer gemessen; der Median ist {median} Token/s.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/speeds.py" />
            <source>speed_of_several</source>
            <extracomment>{reason} Each pass waits for the other computers {count} times, for {milliseconds:.2f} ms.</extracomment>
            <translation>{reason} Jeder Durchlauf wartet {count}-mal je {milliseconds:.2f} ms auf die anderen Computer.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/speeds.py" />
            <source>speed_own</source>
            <extracomment>Your replies with this pair reached {tokens:.1f} tokens per round.</extracomment>
            <translation>Ihre Antworten mit diesem Paar erreichten {tokens:.1f} Token pro Runde.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/speeds.py" />
            <source>speed_plain</source>
            <extracomment>Each token reads {read:,.2f} GB of weights, and this machine reads {bandwidth:,.0f} GB/s. Long chats are slower.</extracomment>
            <translation>Jedes Token liest {read:,.2f} GB Gewichte, und dieser Computer liest {bandwidth:,.0f} GB/s. Lange Chats dauern länger.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/speeds.py" />
            <source>speed_published</source>
            <extracomment>Published drafters of this kind reach {few:g} to {many:g} tokens per round.</extracomment>
            <translation>Veröffentlichte Drafter dieser Art erreichen {few:g} bis {many:g} Token pro Runde.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/speeds.py" />
            <source>speed_published_once</source>
            <extracomment>A published drafter of this kind reaches {tokens:g} tokens per round.</extracomment>
            <translation>Ein veröffentlichter Drafter dieser Art erreicht {tokens:g} Token pro Runde.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/speeds.py" />
            <source>speed_timed</source>
            <extracomment>{reason} The time of a round was measured on this machine.</extracomment>
            <translation>{reason} Die Zeit einer Runde wurde auf diesem Computer gemessen.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/network/local_network.py" />
            <source>remote_local_network</source>
            <extracomment>“{host}” can't be reached. Make sure that it is on, and allow Slipstream in System Settings ▸ Privacy &amp; Security ▸ Local Network.</extracomment>
            <translation>„{host}“ ist nicht erreichbar. Prüfen Sie, ob der Server eingeschaltet ist, und erlauben Sie Slipstream den Zugriff unter Systemeinstellungen ▸ Datenschutz &amp; Sicherheit ▸ Lokales Netzwerk.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/network/offline.py" />
            <source>offline</source>
            <extracomment>Offline is on, so “{host}” can't be reached. Turn it off in Settings ▸ Privacy, then try again.</extracomment>
            <translation>„Offline“ ist eingeschaltet, daher ist „{host}“ nicht erreichbar. Schalten Sie es unter Einstellungen ▸ Datenschutz aus, und versuchen Sie es erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/network/offline.py" />
            <source>offline_command</source>
            <extracomment>Slipstream was started with {variable}, so “{host}” can't be reached. Quit Slipstream, then open it normally.</extracomment>
            <translation>Slipstream wurde mit {variable} gestartet, daher ist „{host}“ nicht erreichbar. Beenden Sie Slipstream, und öffnen Sie es normal.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/prompt_sets/set_download.py" />
            <source>set_gone</source>
            <extracomment>{repo} no longer has the revision that Slipstream uses ({revision}). Use another set, or a file of your own.</extracomment>
            <translation>{repo} enthält die Revision, die Slipstream verwendet ({revision}), nicht mehr. Verwenden Sie andere Prompts oder eine eigene Datei.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/prompt_sets/set_download.py" />
            <source>set_unreadable</source>
            <extracomment>Can't read “{file}” from {repo}: {reason}. Remove the set, then download it again.</extracomment>
            <translation>„{file}“ aus {repo} kann nicht gelesen werden: {reason}. Entfernen Sie die Prompts, und laden Sie sie erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_bad_address</source>
            <extracomment>“{url}” isn't a valid address. Enter one such as http://192.168.1.20:8000.</extracomment>
            <translation>„{url}“ ist keine gültige Adresse. Geben Sie eine Adresse wie http://192.168.1.20:8000 ein.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_bad_ca</source>
            <extracomment>The certificate file “{file}” can't be used: {reason}. Choose a PEM file.</extracomment>
            <translation>Die Zertifikatsdatei „{file}“ kann nicht verwendet werden: {reason}. Wählen Sie eine PEM-Datei.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_bad_header</source>
            <extracomment>The key or a header contains characters that HTTP doesn't allow. Correct it.</extracomment>
            <translation>Der Schlüssel oder ein Header enthält Zeichen, die HTTP nicht erlaubt. Korrigieren Sie ihn.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_busy</source>
            <extracomment>“{host}” is busy. Try again in a moment.</extracomment>
            <translation>„{host}“ ist ausgelastet. Versuchen Sie es gleich noch einmal.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_busy_until</source>
            <extracomment>“{host}” is busy. Try again in {seconds} seconds.</extracomment>
            <translation>„{host}“ ist ausgelastet. Versuchen Sie es in {seconds} Sekunden noch einmal.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_certificate</source>
            <extracomment>The certificate for “{host}” isn't trusted. Add its certificate authority to the connection.</extracomment>
            <translation>Dem Zertifikat von „{host}“ wird nicht vertraut. Fügen Sie der Verbindung die Zertifizierungsstelle hinzu.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_certificate_invalid</source>
            <extracomment>The certificate for “{host}” isn't valid: {reason}. Check the address, or renew the certificate.</extracomment>
            <translation>Das Zertifikat für „{host}“ ist ungültig: {reason}. Prüfen Sie die Adresse, oder erneuern Sie das Zertifikat.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_context_exceeded</source>
            <extracomment>The chat is too long for the model on “{host}”: {reason}</extracomment>
            <translation>Der Chat ist zu lang für das Modell auf „{host}“: {reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_failed</source>
            <extracomment>“{host}” failed: {reason}</extracomment>
            <translation>„{host}“ meldet einen Fehler: {reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_key</source>
            <extracomment>“{host}” rejected the key. Enter the correct key for this connection.</extracomment>
            <translation>„{host}“ hat den Schlüssel abgelehnt. Geben Sie den richtigen Schlüssel für diese Verbindung ein.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_lost</source>
            <extracomment>The connection to “{host}” was lost. Try again.</extracomment>
            <translation>Die Verbindung zu „{host}“ ist abgebrochen. Versuchen Sie es noch einmal.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_no_model</source>
            <extracomment>“{host}” doesn't offer “{model}” anymore: {reason}</extracomment>
            <translation>„{host}“ bietet „{model}“ nicht mehr an: {reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_no_route</source>
            <extracomment>“{host}” can't be reached. Check the address and your network connection.</extracomment>
            <translation>„{host}“ ist nicht erreichbar. Prüfen Sie die Adresse und Ihre Netzwerkverbindung.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_no_tools</source>
            <extracomment>“{host}” isn't set up for tool calls. Turn off tools in this chat.</extracomment>
            <translation>„{host}“ ist nicht für Werkzeugaufrufe eingerichtet. Schalten Sie die Werkzeuge in diesem Chat aus.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_not_api</source>
            <extracomment>“{host}” responded with HTTP status {status} and no message. Check the address.</extracomment>
            <translation>„{host}“ hat mit HTTP-Status {status} und ohne Meldung geantwortet. Prüfen Sie die Adresse.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_not_encrypted</source>
            <extracomment>The connection to “{host}” isn't encrypted. Use https, or an address on your own network.</extracomment>
            <translation>Die Verbindung zu „{host}“ ist nicht verschlüsselt. Verwenden Sie https oder eine Adresse in Ihrem eigenen Netzwerk.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_nothing_listens</source>
            <extracomment>Nothing listens at “{host}”. Start the server, or check the address and port.</extracomment>
            <translation>Unter „{host}“ läuft kein Server. Starten Sie den Server, oder prüfen Sie Adresse und Port.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_password_in_address</source>
            <extracomment>The address contains a password. Enter the key in its own field.</extracomment>
            <translation>Die Adresse enthält ein Passwort. Geben Sie den Schlüssel in seinem eigenen Feld ein.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_refused</source>
            <extracomment>“{host}” refused the request: {reason}</extracomment>
            <translation>„{host}“ hat die Anfrage abgelehnt: {reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_timed_out</source>
            <extracomment>“{host}” sent nothing for {seconds:g} seconds. Try again.</extracomment>
            <translation>„{host}“ hat {seconds:g} Sekunden lang nichts gesendet. Versuchen Sie es noch einmal.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_unknown_host</source>
            <extracomment>“{host}” wasn't found. Check the spelling and your network connection.</extracomment>
            <translation>„{host}“ wurde nicht gefunden. Prüfen Sie die Schreibweise und Ihre Netzwerkverbindung.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_unreachable</source>
            <extracomment>“{host}” isn't responding. Check the address, and make sure that the server is running.</extracomment>
            <translation>„{host}“ antwortet nicht. Prüfen Sie die Adresse und ob der Server läuft.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_without_tls</source>
            <extracomment>“{host}” doesn't accept encrypted connections. Check the port, or enter the address with http://.</extracomment>
            <translation>„{host}“ nimmt keine verschlüsselten Verbindungen an. Prüfen Sie den Port, oder geben Sie die Adresse mit http:// ein.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/remote_engine.py" />
            <source>connecting</source>
            <extracomment>Connecting to {host}</extracomment>
            <translation>Verbinden mit {host}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/remote_engine.py" />
            <source>remote_internal</source>
            <extracomment>Something went wrong in Slipstream while using the remote server. Try again.</extracomment>
            <translation>In Slipstream ist bei der Verwendung des entfernten Servers ein Fehler aufgetreten. Versuchen Sie es noch einmal.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/remote_engine.py" />
            <source>remote_no_count</source>
            <extracomment>The server can't count tokens before a reply.</extracomment>
            <translation>Der Server kann Token nicht vor einer Antwort zählen.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/remote_engine.py" />
            <source>remote_no_plain</source>
            <extracomment>“{host}” can't turn off speculative decoding. Add an address for plain replies to the connection.</extracomment>
            <translation>„{host}“ kann nicht ohne Spekulation dekodieren. Fügen Sie der Verbindung eine Adresse für normale Antworten hinzu.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/remote_engine.py" />
            <source>remote_no_stream</source>
            <extracomment>“{host}” doesn't respond like an OpenAI-compatible server. Check the address.</extracomment>
            <translation>„{host}“ antwortet nicht wie ein OpenAI-kompatibler Server. Prüfen Sie die Adresse.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/remote_engine.py" />
            <source>remote_not_here</source>
            <extracomment>This isn't available with a remote server.</extracomment>
            <translation>Das ist mit einem entfernten Server nicht verfügbar.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/request_body.py" />
            <source>remote_no_continue</source>
            <extracomment>This server can't continue a reply. Regenerate the reply instead.</extracomment>
            <translation>Dieser Server kann eine Antwort nicht fortsetzen. Lassen Sie die Antwort stattdessen neu erzeugen.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/saved_endpoints.py" />
            <source>connection_secret_missing</source>
            <extracomment>The system's keychain has no key for “{connection}”. Choose File ▸ Models and enter it again.</extracomment>
            <translation>Der Schlüsselbund des Systems hat keinen Schlüssel für „{connection}“. Wählen Sie „Ablage“ ▸ „Modelle“, und geben Sie ihn erneut ein.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/saved_endpoints.py" />
            <source>connections_damaged</source>
            <extracomment>The list of connections was damaged and renamed to “{file}”. Add your connections again.</extracomment>
            <translation>Die Liste der Verbindungen ist beschädigt. Sie wurde in „{file}“ umbenannt. Fügen Sie Ihre Verbindungen erneut hinzu.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/saved_endpoints.py" />
            <source>connections_newer</source>
            <extracomment>Your connections were saved by a newer version of Slipstream. Update Slipstream to use them.</extracomment>
            <translation>Eine neuere Version von Slipstream hat die Liste der Verbindungen geschrieben. Aktualisieren Sie Slipstream, um sie zu verwenden.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/server.py" />
            <source>remote_no_list</source>
            <extracomment>“{host}” doesn't respond like an OpenAI-compatible server. Check the address.</extracomment>
            <translation>„{host}“ antwortet nicht wie ein OpenAI-kompatibler Server. Prüfen Sie die Adresse.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/server.py" />
            <source>remote_no_models</source>
            <extracomment>“{host}” lists no models. Enter the name of the model in the connection.</extracomment>
            <translation>„{host}“ listet keine Modelle auf. Geben Sie den Namen des Modells in der Verbindung ein.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/server.py" />
            <source>remote_no_speculation</source>
            <extracomment>the server doesn't report speculative decoding</extracomment>
            <translation>der Server meldet kein spekulatives Dekodieren</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/server.py" />
            <source>remote_only_speculation</source>
            <extracomment>the connection has no address for plain replies</extracomment>
            <translation>die Verbindung hat keine Adresse für normale Antworten</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/server.py" />
            <source>remote_redirects</source>
            <extracomment>“{host}” redirects to “{address}”. Enter that address.</extracomment>
            <translation>„{host}“ leitet zu „{address}“ weiter. Geben Sie diese Adresse ein.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/server.py" />
            <source>remote_too_slow</source>
            <extracomment>“{host}” didn't respond within {seconds:g} seconds. Check that the server is running.</extracomment>
            <translation>„{host}“ hat innerhalb von {seconds:g} Sekunden nicht geantwortet. Prüfen Sie, ob der Server läuft.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/server.py" />
            <source>remote_unknown_model</source>
            <extracomment>“{host}” doesn't have “{model}”. Available models: {models}.</extracomment>
            <translation>„{host}“ hat „{model}“ nicht. Verfügbare Modelle: {models}.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/streamed_reply.py" />
            <source>remote_bad_chunk</source>
            <extracomment>“{host}” sent invalid data in its reply. Try again.</extracomment>
            <translation>„{host}“ hat einen ungültigen Teil einer Antwort gesendet. Versuchen Sie es noch einmal.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/streamed_reply.py" />
            <source>remote_cut</source>
            <extracomment>“{host}” ended the reply early. The partial reply is kept. Try again.</extracomment>
            <translation>„{host}“ hat die Antwort zu früh beendet. Der empfangene Text bleibt erhalten. Versuchen Sie es noch einmal.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/streamed_reply.py" />
            <source>remote_line_too_long</source>
            <extracomment>The server sent a line that is too long. Check the address.</extracomment>
            <translation>Der Server hat eine zu lange Zeile gesendet. Prüfen Sie die Adresse.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/switch.py" />
            <source>remote_private</source>
            <extracomment>This chat is private, so it isn't sent to a server.</extracomment>
            <translation>Dieser Chat ist privat und wird nicht an einen Server gesendet.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/trial.py" />
            <source>remote_plain_speculates</source>
            <extracomment>“{host}” uses speculative decoding too. Enter the address of a server without it.</extracomment>
            <translation>„{host}“ verwendet ebenfalls spekulatives Dekodieren. Geben Sie die Adresse eines Servers ohne dieses Verfahren ein.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/leader.py" />
            <source>ring_not_joined</source>
            <extracomment>The computers can't exchange results. Allow Slipstream's connections in their firewalls, then try again.</extracomment>
            <translation>Die Computer können keine Ergebnisse austauschen. Erlauben Sie die Verbindungen von Slipstream in deren Firewalls und versuchen Sie es erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/led_engine.py" />
            <source>connecting_workers</source>
            <extracomment>Connecting to the other computers</extracomment>
            <translation>Verbindung zu den anderen Computern wird hergestellt</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/led_engine.py" />
            <source>not_sharded</source>
            <extracomment>This isn't available with a model that runs on several computers.</extracomment>
            <translation>Das ist mit einem Modell, das auf mehreren Computern läuft, nicht verfügbar.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/led_engine.py" />
            <source>sharded_not_exact</source>
            <extracomment>Exact mode isn't available on several computers. Turn it off.</extracomment>
            <translation>Der exakte Modus ist auf mehreren Computern nicht verfügbar. Schalten Sie ihn aus.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/led_engine.py" />
            <source>sharded_other_target</source>
            <extracomment>On several computers, only drafters of the loaded target can be compared.</extracomment>
            <translation>Auf mehreren Computern können nur Drafter des geladenen Zielmodells verglichen werden.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/links.py" />
            <source>ring_ended</source>
            <extracomment>The process that runs the model has ended. Try again to load the model again.</extracomment>
            <translation>Der Prozess, der das Modell ausführt, wurde beendet. Versuchen Sie es erneut, um das Modell neu zu laden.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/links.py" />
            <source>worker_failed</source>
            <extracomment>“{name}” has failed: {reason} Try again to reconnect.</extracomment>
            <translation>„{name}“ ist ausgefallen: {reason} Versuchen Sie es erneut, um neu zu verbinden.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/links.py" />
            <source>worker_lost</source>
            <extracomment>The connection to “{name}” was lost. Check that it is awake and connected, then try again.</extracomment>
            <translation>Die Verbindung zu „{name}“ ist abgebrochen. Prüfen Sie, ob der Computer wach und verbunden ist, und versuchen Sie es dann erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/links.py" />
            <source>worker_silent</source>
            <extracomment>“{name}” takes too long. Check that it is awake and connected, then try again.</extracomment>
            <translation>„{name}“ braucht zu lange. Prüfen Sie, ob der Computer wach und verbunden ist, und versuchen Sie es dann erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/links.py" />
            <source>worker_unreachable</source>
            <extracomment>“{name}” can't be reached ({reason}). Start the worker there, and check the connection.</extracomment>
            <translation>„{name}“ ist nicht erreichbar ({reason}). Starten Sie dort den Worker und prüfen Sie die Verbindung.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/model_copy.py" />
            <source>copying_to_worker</source>
            <extracomment>Copying the target to “{name}” ({share:.0%})</extracomment>
            <translation>Das Zielmodell wird nach „{name}“ kopiert ({share:.0%})</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/pairing.py" />
            <source>worker_certificate_changed</source>
            <extracomment>“{name}” has another certificate than when it was paired. Pair it again with the code that it shows.</extracomment>
            <translation>„{name}“ weist sich mit einem anderen Zertifikat aus als bei der Kopplung. Koppeln Sie den Computer erneut, mit dem Code, den er anzeigt.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/pairing.py" />
            <source>worker_code_wrong</source>
            <extracomment>The pairing code of “{name}” is wrong. Enter the code that the worker shows.</extracomment>
            <translation>Der Kopplungscode von „{name}“ ist falsch. Geben Sie den Code ein, den der Worker anzeigt.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/pairing.py" />
            <source>worker_version_differs</source>
            <extracomment>“{name}” has {package} {found}, and this computer {own}. Install the same version of Slipstream on both.</extracomment>
            <translation>„{name}“ hat {package} {found}, dieser Computer {own}. Installieren Sie auf beiden dieselbe Version von Slipstream.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/ring_plan.py" />
            <source>worker_code_missing</source>
            <extracomment>The keychain has no pairing code for “{name}”. Remove it from the other Macs, and add it again.</extracomment>
            <translation>Im Schlüsselbund ist kein Kopplungscode für „{name}“. Entfernen Sie ihn aus den anderen Macs und fügen Sie ihn erneut hinzu.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/cache_adapter.py" />
            <source>cache_cannot_rewind</source>
            <extracomment>This target uses a {kind}, which Slipstream can't rewind after rejected tokens. Load it without a drafter, or choose another target.</extracomment>
            <translation>Dieses Zielmodell verwendet {kind}. Slipstream kann diesen Cache nach abgelehnten Token nicht zurücksetzen. Laden Sie das Modell ohne Drafter, oder wählen Sie ein anderes.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/exact.py" />
            <source>exact_cache</source>
            <extracomment>it uses a {kind}</extracomment>
            <translation>es verwendet einen {kind}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/exact.py" />
            <source>exact_dtypes</source>
            <extracomment>it multiplies {left} by {right}</extracomment>
            <translation>es multipliziert {left} mit {right}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/exact.py" />
            <source>exact_weights</source>
            <extracomment>it has {bits}-bit weights ({mode}, groups of {group_size}); supported: 16, 8, and 4 bits (affine)</extracomment>
            <translation>seine Gewichte haben {bits} Bit ({mode}, Gruppen von {group_size}); möglich sind 16, 8 und 4 Bit (affin)</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/exact.py" />
            <source>not_row_exact</source>
            <extracomment>Exact mode isn't available for this model: {reason}. Turn exact mode off.</extracomment>
            <translation>Der exakte Modus ist für dieses Modell nicht verfügbar: {reason}. Schalten Sie den exakten Modus aus.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/exact_check.py" />
            <source>exact_family</source>
            <extracomment>the “{family}” family uses a different formula for a single row than for several</extracomment>
            <translation>in seiner Familie „{family}“ wird eine einzelne Zeile nach einer anderen Formel berechnet als mehrere</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/exact_check.py" />
            <source>exact_trial</source>
            <extracomment>on this machine, the result for a row depends on the number of rows in a pass</extracomment>
            <translation>auf diesem Gerät hängt das Ergebnis einer Zeile von der Zahl der Zeilen eines Durchlaufs ab</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/exact_check.py" />
            <source>exact_wrong</source>
            <extracomment>on this machine, the required kernels give wrong results</extracomment>
            <translation>auf diesem Gerät liefern die nötigen Kernel falsche Ergebnisse</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/model_arguments.py" />
            <source>config_entries_missing</source>
            <extracomment>has “{field}” for only {count} of {layers} layers</extracomment>
            <translation>gibt „{field}“ nur für {count} von {layers} Schichten an</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/model_arguments.py" />
            <source>config_entry_unknown</source>
            <extracomment>sets “{field}” to {value}; allowed: {allowed}</extracomment>
            <translation>enthält in „{field}“ den Wert {value}; erlaubt: {allowed}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/model_arguments.py" />
            <source>config_field_above</source>
            <extracomment>sets “{field}” to {value}, but “{other}” is only {most}</extracomment>
            <translation>gibt „{field}“ als {value} an, aber „{other}“ ist nur {most}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/model_arguments.py" />
            <source>config_field_missing</source>
            <extracomment>lacks “{field}”</extracomment>
            <translation>enthält kein Feld „{field}“</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/model_arguments.py" />
            <source>config_field_not_divisor</source>
            <extracomment>sets “{field}” to {value}, which doesn't divide “{other}” ({total})</extracomment>
            <translation>gibt „{field}“ als {value} an; das ist kein Teiler von „{other}“ ({total})</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/model_arguments.py" />
            <source>config_field_too_large</source>
            <extracomment>sets “{field}” to {value}, which is too large</extracomment>
            <translation>gibt „{field}“ als {value} an; der Wert ist zu groß</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/model_arguments.py" />
            <source>config_field_too_small</source>
            <extracomment>sets “{field}” to {value}, but it must be above 0</extracomment>
            <translation>gibt „{field}“ als {value} an; nötig ist ein Wert über 0</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/model_arguments.py" />
            <source>config_field_type</source>
            <extracomment>sets “{field}” to {value}; expected type: {expected}</extracomment>
            <translation>gibt „{field}“ als {value} an; erwarteter Typ: {expected}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/model_arguments.py" />
            <source>config_quantization</source>
            <extracomment>sets “{field}” to {value} in its quantization settings, which isn't valid</extracomment>
            <translation>gibt „{field}“ in den Quantisierungseinstellungen mit dem ungültigen Wert {value} an</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/model_arguments.py" />
            <source>config_quantization_value</source>
            <extracomment>sets “{field}” to {value} in its quantization settings; allowed: {allowed}</extracomment>
            <translation>gibt „{field}“ in den Quantisierungseinstellungen als {value} an; erlaubt: {allowed}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/block_loss.py" />
            <source>drafter_not_tunable</source>
            <extracomment>Only DFlash and DFlash 2 drafters can be tuned. Choose another drafter.</extracomment>
            <translation>Nur DFlash- und DFlash-2-Drafter lassen sich anpassen. Wählen Sie einen anderen Drafter.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/fresh.py" />
            <source>drafter_exists</source>
            <extracomment>“{folder}” already contains something else. Choose another folder, or use the same options as before.</extracomment>
            <translation>„{folder}“ enthält schon etwas anderes. Wählen Sie einen anderen Ordner oder dieselben Optionen wie zuvor.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/fresh.py" />
            <source>target_size_missing</source>
            <extracomment>The target's config.json has no valid “{field}”, so a drafter can't be made for it. Choose another target.</extracomment>
            <translation>In der config.json des Zielmodells steht kein gültiger Wert für „{field}“, daher kann kein Drafter dafür erstellt werden. Wählen Sie ein anderes Zielmodell.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/recorded_replies.py" />
            <source>no_replies_to_tune</source>
            <extracomment>The model's replies are empty or too long to learn from. Choose other prompts.</extracomment>
            <translation>Die Antworten des Modells sind leer oder zu lang, um daraus zu lernen. Wählen Sie andere Prompts.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/tuner.py" />
            <source>drafter_not_writable</source>
            <extracomment>The drafter in “{folder}” is part of Slipstream or can't be changed. Copy the pair to one of your own folders first.</extracomment>
            <translation>Der Drafter in „{folder}“ gehört zu Slipstream oder kann nicht geändert werden. Kopieren Sie das Paar zuerst in einen eigenen Ordner.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/tuner.py" />
            <source>images_to_tune</source>
            <extracomment>Tuning can't use prompts with images. Leave them out.</extracomment>
            <translation>Prompts mit Bildern eignen sich nicht zum Anpassen. Lassen Sie sie weg.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/tuner.py" />
            <source>no_disk_to_tune</source>
            <extracomment>There isn't enough disk space to tune: {size:.0f} GB must stay free. Free up space, or use fewer prompts.</extracomment>
            <translation>Der Speicherplatz reicht zum Anpassen nicht: {size:.0f} GB müssen frei bleiben. Geben Sie Speicherplatz frei, oder verwenden Sie weniger Prompts.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/tuner.py" />
            <source>no_memory_to_tune</source>
            <extracomment>There isn't enough memory to tune the drafter. Quit other apps, then try again.</extracomment>
            <translation>Der Arbeitsspeicher reicht nicht aus, um den Drafter anzupassen. Beenden Sie andere Apps, und versuchen Sie es dann erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/tuner.py" />
            <source>nothing_to_tune</source>
            <extracomment>There is nothing to tune: the pair has no drafter.</extracomment>
            <translation>Es gibt nichts anzupassen: Das Paar hat keinen Drafter.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/tuner.py" />
            <source>one_chat_to_tune</source>
            <extracomment>All prompts are from one chat. Add prompts from other chats.</extracomment>
            <translation>Alle Prompts stammen aus einem einzigen Chat. Fügen Sie Prompts aus anderen Chats hinzu.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/tuner.py" />
            <source>too_few_prompts</source>
            <extracomment>Tuning needs at least {fewest} different prompts, but there are only {count}. Add more prompts.</extracomment>
            <translation>Zum Anpassen sind mindestens {fewest} verschiedene Prompts nötig, es sind aber nur {count}. Fügen Sie weitere hinzu.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/tuner.py" />
            <source>tuned_already</source>
            <extracomment>The loaded drafter is tuned. Load it without its adapter, then tune it again.</extracomment>
            <translation>Der geladene Drafter ist bereits angepasst. Laden Sie ihn ohne die Anpassung, und passen Sie ihn dann erneut an.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/tuner.py" />
            <source>tuning_measures</source>
            <extracomment>Measuring</extracomment>
            <translation>Messung läuft</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/tuner.py" />
            <source>tuning_replies</source>
            <extracomment>Generating reply {number} of {total}</extracomment>
            <translation>Antwort {number} von {total} wird erzeugt</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/tuner.py" />
            <source>tuning_step</source>
            <extracomment>Training, step {step} of {steps}, loss {loss:.2f}</extracomment>
            <translation>Training, Schritt {step} von {steps}, Verlust {loss:.2f}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/vision/qwen_rules.py" />
            <source>image_too_narrow</source>
            <extracomment>The image is more than {most} times as long as wide. Crop it, then attach it again.</extracomment>
            <translation>Das Bild ist mehr als {most}-mal so lang wie breit. Schneiden Sie es zu, und fügen Sie es dann wieder an.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/vision/vision_checkpoint.py" />
            <source>family_without_images</source>
            <extracomment>Slipstream can't show images to models of the “{family}” family. Choose another target, such as Qwen3.5 or Gemma 4.</extracomment>
            <translation>Slipstream kann Modellen der Familie „{family}“ keine Bilder zeigen. Wählen Sie ein anderes Zielmodell, etwa Qwen3.5 oder Gemma 4.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/vision/vision_checkpoint.py" />
            <source>no_tower</source>
            <extracomment>This copy of the model can't see images, because it lacks the vision part. Choose a copy that includes it.</extracomment>
            <translation>Diese Kopie des Modells kann keine Bilder sehen, weil ihr der Bildteil fehlt. Wählen Sie eine Kopie, die ihn enthält.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/vision/vision_checkpoint.py" />
            <source>tensor_twice</source>
            <extracomment>“{tensor}” is stored twice</extracomment>
            <translation>„{tensor}“ ist doppelt gespeichert</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/vision/vision_checkpoint.py" />
            <source>tower_does_not_fit</source>
            <extracomment>The vision part of “{name}” doesn't match its config.json ({reason}). Download the model again, or choose another one.</extracomment>
            <translation>Der Bildteil von „{name}“ passt nicht zu seiner config.json ({reason}). Laden Sie das Modell erneut, oder wählen Sie ein anderes.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/vision/vision_checkpoint.py" />
            <source>tower_file_damaged</source>
            <extracomment>The weights of this model can't be read (“{file}”). Download the model again.</extracomment>
            <translation>Die Gewichte dieses Modells sind nicht lesbar („{file}“). Laden Sie das Modell erneut.</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/vision/vision_fields.py" />
            <source>vision_field_unusable</source>
            <extracomment>This model can't see images: “{field}” is {value} (expected: {expected}). Download the model again, or choose another one.</extracomment>
            <translation>Dieses Modell kann keine Bilder sehen: „{field}“ ist {value} (erwartet: {expected}). Laden Sie das Modell erneut, oder wählen Sie ein anderes.</translation>
        </message>
    </context>
</TS>
