<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN" sourcelanguage="en">
    <context>
        <name>Slipstream</name>
        <message>
            <location filename="../../app/application.py" />
            <source>Downloading models</source>
            <translation>正在下载模型</translation>
        </message>
        <message>
            <location filename="../../app/application.py" />
            <source>Generating a reply</source>
            <translation>正在生成回复</translation>
        </message>
        <message>
            <location filename="../../app/application.py" />
            <source>Measuring speed</source>
            <translation>正在测量速度</translation>
        </message>
        <message>
            <location filename="../../app/application.py" />
            <source>Slipstream quit unexpectedly last time. For details, choose Help ▸ Report a Problem.</source>
            <translation>Slipstream 上次意外退出。要查看详情，请选取“帮助 ▸ 报告问题”。</translation>
        </message>
        <message>
            <location filename="../../app/application.py" />
            <source>Something went wrong in Slipstream. Details are in {log_file}.</source>
            <translation>Slipstream 出现问题。详细信息见 {log_file}。</translation>
        </message>
        <message>
            <location filename="../../app/application.py" />
            <source>Tuning a drafter</source>
            <translation>正在调优草稿模型</translation>
        </message>
        <message>
            <location filename="../../app/rendering/code_view.py" />
            <source>Can't open this in a browser. Check that a default browser is set, and that the disk isn't full.</source>
            <translation>无法在浏览器中打开。请检查是否设置了默认浏览器，以及磁盘是否已满。</translation>
        </message>
        <message>
            <location filename="../../app/rendering/code_view.py" />
            <source>Code</source>
            <translation>代码</translation>
        </message>
        <message>
            <location filename="../../app/rendering/code_view.py" />
            <source>Copy code</source>
            <translation>拷贝代码</translation>
        </message>
        <message>
            <location filename="../../app/rendering/code_view.py" />
            <source>Open in Browser</source>
            <translation>在浏览器中打开</translation>
        </message>
        <message>
            <location filename="../../app/rendering/code_view.py" />
            <source>Open in the browser, which runs its scripts</source>
            <translation>在浏览器中打开，浏览器会运行其中的脚本</translation>
        </message>
        <message>
            <location filename="../../app/rendering/code_view.py" />
            <source>Wrap</source>
            <translation>换行</translation>
        </message>
        <message>
            <location filename="../../app/rendering/code_view.py" />
            <source>Wrap long lines</source>
            <translation>长行自动换行</translation>
        </message>
        <message>
            <location filename="../../app/rendering/page_links.py" />
            <source>Show page {number}</source>
            <translation>显示第 {number} 页</translation>
        </message>
        <message>
            <location filename="../../app/rendering/page_links.py" />
            <source>Show {page}</source>
            <translation>显示{page}</translation>
        </message>
        <message>
            <location filename="../../app/rendering/page_links.py" />
            <source>{name}, page {number}</source>
            <translation>{name}，第 {number} 页</translation>
        </message>
        <message>
            <location filename="../../app/rendering/table_view.py" />
            <source>Table</source>
            <translation>表格</translation>
        </message>
        <message>
            <location filename="../../app/rendering/table_view.py" />
            <source>Table rows</source>
            <translation>表格行</translation>
        </message>
        <message>
            <location filename="../../app/rendering/text_marks.py" />
            <source>Copied from earlier text</source>
            <translation>拷贝自前文</translation>
        </message>
        <message>
            <location filename="../../app/rendering/text_marks.py" />
            <source>Drafted and accepted</source>
            <translation>起草并接受</translation>
        </message>
        <message>
            <location filename="../../app/rendering/text_marks.py" />
            <source>From the target model</source>
            <translation>来自目标模型</translation>
        </message>
        <message>
            <location filename="../../app/rendering/text_marks.py" />
            <source>Legend for token sources</source>
            <translation>词元来源图例</translation>
        </message>
        <message>
            <location filename="../../app/rendering/text_view.py" />
            <source>Text</source>
            <translation>文本</translation>
        </message>
        <message>
            <location filename="../../app/session/activity.py" />
            <source>A comparison is running. Wait for it to finish, or stop it.</source>
            <translation>正在进行比较。请等待完成，或将其停止。</translation>
        </message>
        <message>
            <location filename="../../app/session/activity.py" />
            <source>A reply is being generated in “{title}”. Wait for it to finish, or stop it there.</source>
            <translation>正在“{title}”中生成回复。请等待完成，或在那里停止。</translation>
        </message>
        <message>
            <location filename="../../app/session/activity.py" />
            <source>A reply is being generated. Wait for it to finish, or stop it.</source>
            <translation>正在生成回复。请等待完成，或将其停止。</translation>
        </message>
        <message>
            <location filename="../../app/session/activity.py" />
            <source>A summary is being written. Wait for it to finish, or cancel it.</source>
            <translation>正在撰写摘要。请等待完成，或将其取消。</translation>
        </message>
        <message>
            <location filename="../../app/session/activity.py" />
            <source>No models are loaded.</source>
            <translation>未载入任何模型。</translation>
        </message>
        <message>
            <location filename="../../app/session/activity.py" />
            <source>The models are still loading. Try again in a moment.</source>
            <translation>模型仍在载入。请稍后再试。</translation>
        </message>
        <message>
            <location filename="../../app/session/activity.py" />
            <source>This chat is private, so it isn't sent to {host}. Choose a model on this computer.</source>
            <translation>此对话是私密的，不会发送到 {host}。请选择这台电脑上的模型。</translation>
        </message>
        <message>
            <location filename="../../app/session/activity.py" />
            <source>“{title}” needs your approval for a tool call. Respond there, or stop the reply.</source>
            <translation>“{title}”的工具调用需要您的批准。请在该对话中决定，或停止回复。</translation>
        </message>
        <message>
            <location filename="../../app/session/attachment_reader.py" />
            <source>A message can't have more than {limit} files.</source>
            <translation>一条消息最多可附加 {limit} 个文件。</translation>
        </message>
        <message>
            <location filename="../../app/session/attachment_reader.py" />
            <source>Can't read “{name}”.</source>
            <translation>无法读取“{name}”。</translation>
        </message>
        <message>
            <location filename="../../app/session/attachment_reader.py" />
            <source>Pasted text {number}</source>
            <translation>粘贴的文本 {number}</translation>
        </message>
        <message>
            <location filename="../../app/session/attachment_reader.py" />
            <source>{count} more files can't be attached.</source>
            <translation>另有 {count} 个文件无法附加。</translation>
        </message>
        <message>
            <location filename="../../app/session/background_work.py" />
            <source>Something went wrong ({error}). See the log for details.</source>
            <translation>出错了（{error}）。详情请查看日志。</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>Add Messages</source>
            <translation>添加消息</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>Added the new messages to {chats}.</source>
            <translation>已将新消息添加到 {chats}。</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>Archived {count} chats</source>
            <translation>已归档 {count} 个对话</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>Archived “{title}”</source>
            <translation>已归档“{title}”</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>Deleted the project “{name}”</source>
            <translation>已删除项目“{name}”</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>Deleted {count} chats</source>
            <translation>已删除 {count} 个对话</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>Deleted “{title}”</source>
            <translation>已删除“{title}”</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>Import canceled. No chats were added.</source>
            <translation>导入已取消，未添加任何对话。</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>New Project</source>
            <translation>新建项目</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>Show</source>
            <translation>显示</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>Undo</source>
            <translation>撤销</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>Undo &amp;Archive</source>
            <translation>撤销归档(&amp;A)</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>Undo &amp;Delete</source>
            <translation>撤销删除(&amp;D)</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>Undo &amp;Import</source>
            <translation>撤销导入(&amp;I)</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>Your chats are being saved again.</source>
            <translation>对话已恢复存储。</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>{count} files</source>
            <translation>{count} 个文件</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_library.py" />
            <source>{title} copy</source>
            <translation>{title} 副本</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_session.py" />
            <source>Open Chat</source>
            <translation>打开对话</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_session.py" />
            <source>The earlier summary replaces the older messages again.</source>
            <translation>较早的消息重新由之前的摘要代替。</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_session.py" />
            <source>The model reads the older messages again.</source>
            <translation>模型重新读取较早的消息。</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_session.py" />
            <source>The reply in “{title}” can't be continued.</source>
            <translation>无法继续“{title}”中的回复。</translation>
        </message>
        <message>
            <location filename="../../app/session/chat_session.py" />
            <source>Write a message first.</source>
            <translation>请先输入消息。</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>&amp;Compare Last Prompt</source>
            <translation>比较上一个提示词(&amp;C)</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>&amp;Delete</source>
            <translation>删除(&amp;D)</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>&amp;Delete {count} Chats</source>
            <translation>删除 {count} 个对话(&amp;D)</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>&amp;Edit Last Message</source>
            <translation>编辑上一条消息(&amp;E)</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>&amp;New Chat</source>
            <translation>新建对话(&amp;N)</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>&amp;Next Chat</source>
            <translation>下一个对话(&amp;N)</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>&amp;Pin Chat</source>
            <translation>置顶对话(&amp;P)</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>&amp;Regenerate Reply</source>
            <translation>重新生成回复(&amp;R)</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>&amp;Stop</source>
            <translation>停止(&amp;S)</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>&amp;Thinking</source>
            <translation>思考(&amp;T)</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Archive</source>
            <translation>归档</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Compact</source>
            <translation>压缩</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Contin&amp;ue Reply</source>
            <translation>继续回复(&amp;U)</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Copy Last Repl&amp;y</source>
            <translation>拷贝上一条回复(&amp;Y)</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Copy Lin&amp;k to Chat</source>
            <translation>拷贝对话链接(&amp;K)</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Dupl&amp;icate</source>
            <translation>复制对话(&amp;I)</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Move t&amp;o Project</source>
            <translation>移到项目(&amp;O)</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Ne&amp;xt Version</source>
            <translation>下一个版本(&amp;X)</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>New Pr&amp;oject</source>
            <translation>新建项目(&amp;O)</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>New Project…</source>
            <translation>新建项目…</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>None</source>
            <translation>无</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Previous &amp;Version</source>
            <translation>上一个版本(&amp;V)</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Previous C&amp;hat</source>
            <translation>上一个对话(&amp;H)</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Rena&amp;me</source>
            <translation>重新命名(&amp;M)</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Rolling &amp;Window</source>
            <translation>滚动窗口(&amp;W)</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Summarize older messages to make room</source>
            <translation>总结较早的消息以腾出空间</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Un&amp;pin Chat</source>
            <translation>取消置顶对话(&amp;P)</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Unarchive</source>
            <translation>取消归档</translation>
        </message>
        <message>
            <location filename="../../app/session/commands.py" />
            <source>Undo Compact</source>
            <translation>撤销压缩</translation>
        </message>
        <message>
            <location filename="../../app/session/compaction.py" />
            <source>A message is too long to be summarized, so all messages are kept. Use a rolling window.</source>
            <translation>有一条消息过长，无法生成摘要，因此所有消息均保留。请使用滚动窗口。</translation>
        </message>
        <message>
            <location filename="../../app/session/compaction.py" />
            <source>A summary replaces the older messages in prompts. They stay in the chat.</source>
            <translation>提示词中的较早消息已由摘要代替。这些消息仍保留在聊天中。</translation>
        </message>
        <message>
            <location filename="../../app/session/compaction.py" />
            <source>The context has too little room for a summary, so all messages are kept. Use a rolling window.</source>
            <translation>上下文剩余空间不足，无法生成摘要，因此所有消息均保留。请使用滚动窗口。</translation>
        </message>
        <message>
            <location filename="../../app/session/compaction.py" />
            <source>The context is nearly full, so older messages are being summarized.</source>
            <translation>上下文快满了，正在总结较早的消息。</translation>
        </message>
        <message>
            <location filename="../../app/session/compaction.py" />
            <source>The model didn't write a summary. Try again.</source>
            <translation>模型没有写出摘要。请重试。</translation>
        </message>
        <message>
            <location filename="../../app/session/compaction.py" />
            <source>The summary of “{title}” was canceled because you opened another chat.</source>
            <translation>由于您打开了其他对话，“{title}”的摘要已取消。</translation>
        </message>
        <message>
            <location filename="../../app/session/compaction.py" />
            <source>The summary was too long, so all messages are kept. Try again, or use a rolling window.</source>
            <translation>摘要过长，因此所有消息均保留。请重试，或使用滚动窗口。</translation>
        </message>
        <message>
            <location filename="../../app/session/compare_run.py" />
            <source>Saved as {file}.</source>
            <translation>已存储为 {file}。</translation>
        </message>
        <message>
            <location filename="../../app/session/compare_run.py" />
            <source>{pair} on this computer</source>
            <translation>这台电脑上的 {pair}</translation>
        </message>
        <message>
            <location filename="../../app/session/comparer.py" />
            <source>Plain replies aren't available: {why}</source>
            <translation>普通回复不可用：{why}</translation>
        </message>
        <message>
            <location filename="../../app/session/comparer.py" />
            <source>To compare, load a pair first.</source>
            <translation>请先载入模型对，然后再比较。</translation>
        </message>
        <message>
            <location filename="../../app/session/connection_history.py" />
            <source>Connected servers</source>
            <translation>已连接的服务器</translation>
        </message>
        <message>
            <location filename="../../app/session/connection_history.py" />
            <source>Local server</source>
            <translation>本地服务器</translation>
        </message>
        <message>
            <location filename="../../app/session/connection_history.py" />
            <source>Model details</source>
            <translation>模型信息</translation>
        </message>
        <message>
            <location filename="../../app/session/connection_history.py" />
            <source>Model downloads</source>
            <translation>模型下载</translation>
        </message>
        <message>
            <location filename="../../app/session/connection_history.py" />
            <source>Model search</source>
            <translation>模型搜索</translation>
        </message>
        <message>
            <location filename="../../app/session/connection_history.py" />
            <source>Models on several Macs</source>
            <translation>多台 Mac 上的模型</translation>
        </message>
        <message>
            <location filename="../../app/session/connection_history.py" />
            <source>Sign-in</source>
            <translation>登录</translation>
        </message>
        <message>
            <location filename="../../app/session/connection_history.py" />
            <source>Tool servers</source>
            <translation>工具服务器</translation>
        </message>
        <message>
            <location filename="../../app/session/connection_history.py" />
            <source>Update check</source>
            <translation>检查更新</translation>
        </message>
        <message>
            <location filename="../../app/session/connection_history.py" />
            <source>ended by Offline</source>
            <translation>被“离线”结束</translation>
        </message>
        <message>
            <location filename="../../app/session/connection_history.py" />
            <source>failed</source>
            <translation>失败</translation>
        </message>
        <message>
            <location filename="../../app/session/connection_history.py" />
            <source>open</source>
            <translation>打开</translation>
        </message>
        <message>
            <location filename="../../app/session/connection_history.py" />
            <source>refused by Offline</source>
            <translation>被“离线”拒绝</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>1 older message won't be read</source>
            <translation>1 条较早的消息不会被读取</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>Chat template</source>
            <translation>聊天模板</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>Earlier messages</source>
            <translation>之前的消息</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>Files</source>
            <translation>文件</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>Images</source>
            <translation>图像</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>Results of tools</source>
            <translation>工具结果</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>System prompt</source>
            <translation>系统提示词</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>The message with its files doesn't fit: {tokens}, {left} left</source>
            <translation>消息及其文件放不下：{tokens}，剩余 {left}</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>The system prompt doesn't fit: {tokens}, {left} left</source>
            <translation>系统提示词放不下：{tokens}，剩余 {left}</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>The text doesn't fit: {tokens}, {left} left</source>
            <translation>文本放不下：{tokens}，剩余 {left}</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>The tools don't fit: {tokens}, {left} left</source>
            <translation>工具放不下：{tokens}，剩余 {left}</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>This chat is full ({limit} tokens)</source>
            <translation>此对话已满（{limit} 个词元）</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>This message</source>
            <translation>本条消息</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>Tools</source>
            <translation>工具</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>Total: {used} of {limit} tokens</source>
            <translation>合计：{used} / {limit} 个词元</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>{about}1 token left</source>
            <translation>剩余 {about}1 个词元</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>{about}{left} tokens left</source>
            <translation>剩余 {about}{left} 个词元</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>{about}{used} of {limit} tokens used · {left} left</source>
            <translation>已用 {about}{used} / {limit} 个词元 · 剩余 {left}</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>{count} of {pages} pages fit</source>
            <translation>可放下 {pages} 页中的 {count} 页</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>{count} older messages won't be read</source>
            <translation>{count} 条较早的消息不会被读取</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>{name} doesn't fit: {tokens}, {left} left</source>
            <translation>{name} 放不下：{tokens}，剩余 {left}</translation>
        </message>
        <message>
            <location filename="../../app/session/context_use.py" />
            <source>{title}: {tokens}</source>
            <translation>{title}：{tokens}</translation>
        </message>
        <message>
            <location filename="../../app/session/custom_pairs.py" />
            <source>Enter a drafter, or leave the field empty for plain decoding.</source>
            <translation>请输入草稿模型；留空则使用普通解码。</translation>
        </message>
        <message>
            <location filename="../../app/session/custom_pairs.py" />
            <source>Leave the drafter empty for plain decoding.</source>
            <translation>将草稿模型留空以使用普通解码。</translation>
        </message>
        <message>
            <location filename="../../app/session/downloads.py" />
            <source>Can't start the download process. If you moved or replaced Slipstream, restart it.</source>
            <translation>无法启动下载进程。如果您移动或替换过 Slipstream，请重新启动它。</translation>
        </message>
        <message>
            <location filename="../../app/session/downloads.py" />
            <source>Connecting…</source>
            <translation>正在连接…</translation>
        </message>
        <message>
            <location filename="../../app/session/downloads.py" />
            <source>Paused. Partial download kept.</source>
            <translation>已暂停。已下载部分会保留。</translation>
        </message>
        <message>
            <location filename="../../app/session/downloads.py" />
            <source>Stopped. Partial download kept.</source>
            <translation>已停止。已下载部分会保留。</translation>
        </message>
        <message>
            <location filename="../../app/session/downloads.py" />
            <source>The download process stopped unexpectedly. Click Resume to continue.</source>
            <translation>下载进程意外停止。点按“继续”即可继续。</translation>
        </message>
        <message>
            <location filename="../../app/session/downloads.py" />
            <source>Waiting</source>
            <translation>等待中</translation>
        </message>
        <message>
            <location filename="../../app/session/downloads.py" />
            <source>{done} of {total}</source>
            <translation>{done}，共 {total}</translation>
        </message>
        <message>
            <location filename="../../app/session/downloads.py" />
            <source>{time} left</source>
            <translation>剩余 {time}</translation>
        </message>
        <message>
            <location filename="../../app/session/endpoints.py" />
            <source>This is Slipstream's own server, which uses the models loaded here. Enter another address.</source>
            <translation>这是 Slipstream 自己的服务器，使用的就是这里载入的模型。请输入其他地址。</translation>
        </message>
        <message>
            <location filename="../../app/session/hub_search.py" />
            <source>DFlash doesn't support the “{family}” family yet, so this model uses plain decoding.</source>
            <translation>DFlash 尚不支持“{family}”系列，因此该模型使用普通解码。</translation>
        </message>
        <message>
            <location filename="../../app/session/hub_search.py" />
            <source>Drafters couldn't be looked up.</source>
            <translation>无法查找草稿模型。</translation>
        </message>
        <message>
            <location filename="../../app/session/hub_search.py" />
            <source>Looking for drafters…</source>
            <translation>正在查找草稿模型…</translation>
        </message>
        <message>
            <location filename="../../app/session/hub_search.py" />
            <source>No drafter was found in the catalog, on this computer, or on the hub, so this model uses plain decoding.</source>
            <translation>在目录、本机和 Hub 上都未找到草稿模型，因此该模型使用普通解码。</translation>
        </message>
        <message>
            <location filename="../../app/session/imports.py" />
            <source>Imported the project “{name}”.</source>
            <translation>已导入项目“{name}”。</translation>
        </message>
        <message>
            <location filename="../../app/session/imports.py" />
            <source>Imported {count}.</source>
            <translation>已导入 {count}。</translation>
        </message>
        <message>
            <location filename="../../app/session/imports.py" />
            <source>New messages in {chats}.</source>
            <translation>{chats}有新消息。</translation>
        </message>
        <message>
            <location filename="../../app/session/imports.py" />
            <source>Not set up on this computer: {servers}. Add them in Settings ▸ Tools.</source>
            <translation>这台电脑上尚未设置：{servers}。请在“设置 ▸ 工具”中添加。</translation>
        </message>
        <message>
            <location filename="../../app/session/imports.py" />
            <source>The file names documents, a model, or tools for “{project}”: {listed}.</source>
            <translation>该文件为“{project}”列出了文档、模型或工具：{listed}。</translation>
        </message>
        <message>
            <location filename="../../app/session/imports.py" />
            <source>The project “{name}” is already there.</source>
            <translation>项目“{name}”已存在。</translation>
        </message>
        <message>
            <location filename="../../app/session/imports.py" />
            <source>Use Them</source>
            <translation>使用</translation>
        </message>
        <message>
            <location filename="../../app/session/imports.py" />
            <source>{chats} already there.</source>
            <translation>{chats}已存在。</translation>
        </message>
        <message>
            <location filename="../../app/session/local_server.py" />
            <source>1 active request</source>
            <translation>1 个活动请求</translation>
        </message>
        <message>
            <location filename="../../app/session/local_server.py" />
            <source>The local server is off. {reason}</source>
            <translation>本地服务器已关闭。{reason}</translation>
        </message>
        <message>
            <location filename="../../app/session/local_server.py" />
            <source>{count} active requests</source>
            <translation>{count} 个活动请求</translation>
        </message>
        <message>
            <location filename="../../app/session/measurements.py" />
            <source>Finishing</source>
            <translation>正在完成</translation>
        </message>
        <message>
            <location filename="../../app/session/measurements.py" />
            <source>Waiting for the engine</source>
            <translation>正在等待引擎</translation>
        </message>
        <message>
            <location filename="../../app/session/memory_watch.py" />
            <source>Memory is almost full.</source>
            <translation>内存即将用尽。</translation>
        </message>
        <message>
            <location filename="../../app/session/memory_watch.py" />
            <source>Memory is running low.</source>
            <translation>内存不足。</translation>
        </message>
        <message>
            <location filename="../../app/session/memory_watch.py" />
            <source>Quit other apps or shorten the chat to keep replies fast.</source>
            <translation>退出其他 App 或缩短对话，以保持回复速度。</translation>
        </message>
        <message>
            <location filename="../../app/session/memory_watch.py" />
            <source>The last reply used {peak} of the {budget} available to models.</source>
            <translation>上一条回复使用了模型可用的 {budget} 中的 {peak}。</translation>
        </message>
        <message>
            <location filename="../../app/session/message_passages.py" />
            <source>Documents</source>
            <translation>文档</translation>
        </message>
        <message>
            <location filename="../../app/session/message_passages.py" />
            <source>The documents can't be searched, so messages get no passages of them.</source>
            <translation>无法搜索文档，因此消息不会附带其中的段落。</translation>
        </message>
        <message>
            <location filename="../../app/session/model_list.py" />
            <source>About {size}</source>
            <translation>约 {size}</translation>
        </message>
        <message>
            <location filename="../../app/session/model_list.py" />
            <source>Access needed</source>
            <translation>需要访问权限</translation>
        </message>
        <message>
            <location filename="../../app/session/model_list.py" />
            <source>Can't run</source>
            <translation>无法运行</translation>
        </message>
        <message>
            <location filename="../../app/session/model_list.py" />
            <source>Checking…</source>
            <translation>正在检查…</translation>
        </message>
        <message>
            <location filename="../../app/session/model_list.py" />
            <source>Custom pair.</source>
            <translation>自定义模型对。</translation>
        </message>
        <message>
            <location filename="../../app/session/model_list.py" />
            <source>In LM Studio</source>
            <translation>在 LM Studio 中</translation>
        </message>
        <message>
            <location filename="../../app/session/model_list.py" />
            <source>In the Hugging Face cache</source>
            <translation>在 Hugging Face 缓存中</translation>
        </message>
        <message>
            <location filename="../../app/session/model_list.py" />
            <source>In your folder</source>
            <translation>在你的文件夹中</translation>
        </message>
        <message>
            <location filename="../../app/session/model_list.py" />
            <source>Not checked</source>
            <translation>未检查</translation>
        </message>
        <message>
            <location filename="../../app/session/model_list.py" />
            <source>Not on {count} Macs</source>
            <translation>无法在 {count} 台 Mac 上运行</translation>
        </message>
        <message>
            <location filename="../../app/session/model_list.py" />
            <source>Not supported yet</source>
            <translation>尚不支持</translation>
        </message>
        <message>
            <location filename="../../app/session/model_list.py" />
            <source>Sees images</source>
            <translation>可查看图像</translation>
        </message>
        <message>
            <location filename="../../app/session/model_list.py" />
            <source>Unknown size</source>
            <translation>大小未知</translation>
        </message>
        <message>
            <location filename="../../app/session/model_list.py" />
            <source>{kind} drafter</source>
            <translation>{kind} 草稿模型</translation>
        </message>
        <message>
            <location filename="../../app/session/model_storage.py" />
            <source>Models are being moved. Wait until the move is complete, or stop it in Settings.</source>
            <translation>正在移动模型。请等待移动完成，或在设置中停止。</translation>
        </message>
        <message>
            <location filename="../../app/session/model_storage.py" />
            <source>Models moved to {folder}.</source>
            <translation>模型已移至 {folder}。</translation>
        </message>
        <message>
            <location filename="../../app/session/model_storage.py" />
            <source>Move stopped. Your models weren't moved, and copied files are kept for the next attempt.</source>
            <translation>移动已停止。模型仍在原处；已拷贝的文件会保留，供下次使用。</translation>
        </message>
        <message>
            <location filename="../../app/session/model_storage.py" />
            <source>{size} freed.</source>
            <translation>已释放 {size}。</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>Counting tokens before sending…</source>
            <translation>正在统计词元，完成后发送…</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>Remove File</source>
            <translation>移除文件</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>Remove it, or attach part of it.</source>
            <translation>请移除它，或只附加其中一部分。</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>Send Page 1 Only</source>
            <translation>仅发送第 1 页</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>Send Pages 1 to {count}</source>
            <translation>发送第 1 至 {count} 页</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>Shorten the message.</source>
            <translation>请缩短消息。</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>Shorten the system prompt.</source>
            <translation>请缩短系统提示词。</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>Start a new chat, or edit an earlier message.</source>
            <translation>请开始新对话，或编辑之前的消息。</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The message will be sent when its files have been read.</source>
            <translation>文件读取完成后将发送此消息。</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The message will be sent when the chat's PDF pages have been read.</source>
            <translation>读完对话中的 PDF 页面后将发送消息。</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The message will be sent when the comparison has ended.</source>
            <translation>比较结束后将发送此消息。</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The message will be sent when the documents have been searched.</source>
            <translation>搜索完文档后将发送此消息。</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The message will be sent when the models have loaded.</source>
            <translation>模型载入完成后将发送此消息。</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The message will be sent when the reply has ended.</source>
            <translation>回复结束后将发送此消息。</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The message will be sent when the reply has ended. A tool call needs your approval.</source>
            <translation>回复结束后将发送此消息。有一个工具调用需要您的批准。</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The message will be sent when the summary has been written.</source>
            <translation>摘要写好后将发送该消息。</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The message will be sent when the tools are ready.</source>
            <translation>工具就绪后将发送消息。</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The reply in “{title}” didn't start. Try again there.</source>
            <translation>“{title}”中的回复未开始。请在该对话中重试。</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The reply will start when the chat's PDF pages have been read.</source>
            <translation>读完对话中的 PDF 页面后将开始回复。</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The reply will start when the comparison has ended.</source>
            <translation>比较结束后将开始回复。</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The reply will start when the models have loaded.</source>
            <translation>模型载入后将开始回复。</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The reply will start when the other one has ended.</source>
            <translation>另一个回复结束后将开始回复。</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The reply will start when the summary has been written.</source>
            <translation>摘要写好后将开始回复。</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>The reply will start when the tools are ready.</source>
            <translation>工具就绪后将开始回复。</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>Turn some tools off.</source>
            <translation>请关闭部分工具。</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>Your message is no longer waiting to be sent. It is a draft in its chat.</source>
            <translation>您的消息不再等待发送，已作为草稿保留在其对话中。</translation>
        </message>
        <message>
            <location filename="../../app/session/next_message.py" />
            <source>Your message wasn't sent, because the model it was for isn't available.</source>
            <translation>您的消息未发送，因为它所针对的模型不可用。</translation>
        </message>
        <message>
            <location filename="../../app/session/notice.py" />
            <source>Show in Finder</source>
            <translation>在访达中显示</translation>
        </message>
        <message>
            <location filename="../../app/session/notice.py" />
            <source>Show in Folder</source>
            <translation>在文件夹中显示</translation>
        </message>
        <message>
            <location filename="../../app/session/other_macs.py" />
            <source>Enter the pairing code that “slipstream worker” shows there.</source>
            <translation>请输入那里的“slipstream worker”显示的配对码。</translation>
        </message>
        <message>
            <location filename="../../app/session/other_macs.py" />
            <source>“{address}” isn't an address such as 192.168.1.2 or mac.local:47820.</source>
            <translation>“{address}”不是 192.168.1.2 或 mac.local:47820 这样的地址。</translation>
        </message>
        <message>
            <location filename="../../app/session/outgoing.py" />
            <source>Pages of PDFs are read while their chat is open.</source>
            <translation>PDF 页面在其对话打开时读取。</translation>
        </message>
        <message>
            <location filename="../../app/session/outgoing.py" />
            <source>The model it was for isn't available.</source>
            <translation>它所针对的模型不可用。</translation>
        </message>
        <message>
            <location filename="../../app/session/outgoing.py" />
            <source>Your message in “{title}” wasn't sent. It is a draft there.</source>
            <translation>您在“{title}”中的消息未发送，已作为草稿保留在那里。</translation>
        </message>
        <message>
            <location filename="../../app/session/pair_session.py" />
            <source>Demo pair</source>
            <translation>演示模型对</translation>
        </message>
        <message>
            <location filename="../../app/session/pair_session.py" />
            <source>Loading was canceled.</source>
            <translation>载入已取消。</translation>
        </message>
        <message>
            <location filename="../../app/session/pair_session.py" />
            <source>Starting</source>
            <translation>正在启动</translation>
        </message>
        <message>
            <location filename="../../app/session/pair_session.py" />
            <source>{name} is still in use.</source>
            <translation>仍在使用 {name}。</translation>
        </message>
        <message>
            <location filename="../../app/session/pair_survey.py" />
            <source>A drafter can be downloaded for it.</source>
            <translation>可以为它下载草稿模型。</translation>
        </message>
        <message>
            <location filename="../../app/session/pair_survey.py" />
            <source>A tiny built-in demo for simple arithmetic, lists, and code.</source>
            <translation>用于简单算术、列表和代码的小型内置演示。</translation>
        </message>
        <message>
            <location filename="../../app/session/pair_survey.py" />
            <source>Can't estimate memory use: config.json has an unknown format.</source>
            <translation>无法估计内存用量：config.json 的格式未知。</translation>
        </message>
        <message>
            <location filename="../../app/session/pair_survey.py" />
            <source>In LM Studio's models folder.</source>
            <translation>位于 LM Studio 的模型文件夹中。</translation>
        </message>
        <message>
            <location filename="../../app/session/pair_survey.py" />
            <source>In one of your model folders.</source>
            <translation>位于您的某个模型文件夹中。</translation>
        </message>
        <message>
            <location filename="../../app/session/pair_survey.py" />
            <source>In the Hugging Face cache.</source>
            <translation>在 Hugging Face 缓存中。</translation>
        </message>
        <message>
            <location filename="../../app/session/pair_survey.py" />
            <source>In the hub cache.</source>
            <translation>位于 Hub 缓存中。</translation>
        </message>
        <message>
            <location filename="../../app/session/pair_survey.py" />
            <source>No drafter found for this model, so it uses plain decoding.</source>
            <translation>未找到适合此模型的草稿模型，因此使用普通解码。</translation>
        </message>
        <message>
            <location filename="../../app/session/pair_survey.py" />
            <source>{bits}-bit</source>
            <translation>{bits} 位</translation>
        </message>
        <message>
            <location filename="../../app/session/picker.py" />
            <source>Drafter of {name}</source>
            <translation>{name} 的草稿模型</translation>
        </message>
        <message>
            <location filename="../../app/session/picker.py" />
            <source>Wait until the pair is loaded before you move models.</source>
            <translation>请等模型对载入完成后再移动模型。</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>A step ends when the model calls tools and gets their results. In the last step, the model answers without tools.</source>
            <translation>模型每次调用工具并获得结果后，一个步骤结束。在最后一步中，模型不使用工具，直接回答。</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Appearance</source>
            <translation>外观</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Automatic</source>
            <translation>自动</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Automatic: 10 GB or 10% of the free space, whichever is less.</source>
            <translation>自动：10 GB，若可用空间的十分之一更小则取后者。</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Check for updates at launch</source>
            <translation>启动时检查更新</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Contrast</source>
            <translation>对比度</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Dark</source>
            <translation>深色</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Generate chat titles</source>
            <translation>自动生成对话标题</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>High</source>
            <translation>高</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Its menu opens Quick Chat, chats, and the window.</source>
            <translation>其菜单可打开快速对话、对话和窗口。</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Language</source>
            <translation>语言</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Light</source>
            <translation>浅色</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Load models on request</source>
            <translation>按请求载入模型</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Off</source>
            <translation>关</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Offline</source>
            <translation>离线</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Opens a small window over any app.</source>
            <translation>在任何应用上方打开一个小窗口。</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Other programs on this computer can then use the loaded model.</source>
            <translation>之后，这台电脑上的其他程序可以使用已载入的模型。</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Port</source>
            <translation>端口</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Programs can ask the server for another downloaded model, which replaces the loaded one.</source>
            <translation>程序可以向服务器请求另一个已下载的模型，该模型将替换已载入的模型。</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Quiet mode</source>
            <translation>安静模式</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Record token probabilities</source>
            <translation>记录词元概率</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Reduce motion</source>
            <translation>减弱动态效果</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Replies in earlier chats and to coding agents start sooner. Deleting a chat also deletes its saved prompts. Turning this off deletes all saved prompts.</source>
            <translation>在以前的对话中以及对编程智能体的回复会更快开始。删除对话也会删除其已存储的提示词。关闭此选项会删除所有已存储的提示词。</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Requests the newest version number and sends nothing else.</source>
            <translation>只查询最新版本号，不发送其他任何内容。</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Rests half of the time: replies take about twice as long, with the same text. Chat titles and measurements wait, and a running tuning is paused.</source>
            <translation>一半时间休息：回复用时约为两倍，文字不变。对话标题和测量会等待，正在进行的调优会暂停。</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Save prompts on disk</source>
            <translation>将提示词存储在磁盘上</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Shortcut for Quick Chat</source>
            <translation>快速对话快捷键</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Show an icon in the menu bar</source>
            <translation>在菜单栏中显示图标</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Show token sources</source>
            <translation>显示词元来源</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Slipstream connects to no other computer. Transfers end immediately; downloads can be resumed. Programs that you add as tools, coding agents, and your browser aren't covered.</source>
            <translation>Slipstream 不会连接任何其他电脑。正在进行的传输会立即结束，下载可以继续。作为工具添加的程序、编程智能体和浏览器不受影响。</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Space for saved prompts</source>
            <translation>已存储提示词的空间</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Standard</source>
            <translation>标准</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Start Quick Chat with the selected text</source>
            <translation>用所选文本开始快速对话</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Start the server at launch</source>
            <translation>启动时开启服务器</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Steps per reply</source>
            <translation>每次回复的步骤数</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Summarize older messages when the context is nearly full</source>
            <translation>上下文快满时总结较早的消息</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>System</source>
            <translation>跟随系统</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Takes effect after you restart Slipstream.</source>
            <translation>重新启动 Slipstream 后生效。</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Text size</source>
            <translation>文字大小</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>The details of a reply then show how likely each token was, and which others were. They are kept until you open another chat. Only with models on this computer.</source>
            <translation>回复的详细信息会显示每个词元的概率，以及其他可能的词元。在您打开其他对话之前会保留。仅适用于这台电脑上的模型。</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>The loaded model writes a title after the first reply, except with the demo pair.</source>
            <translation>已载入的模型会在首次回复后写出标题，演示模型对除外。</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>They stay in the chat, and you can undo it. Not with the demo pair.</source>
            <translation>这些消息仍保留在聊天中，并且可以撤销。演示模型对不支持。</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Turn on quiet mode on battery</source>
            <translation>使用电池时开启安静模式</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Turns off again when this computer is connected to power.</source>
            <translation>这台电脑接通电源后会再次关闭。</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Turns off animations.</source>
            <translation>关闭动画。</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>Underlines drafted, copied, and target tokens in different styles.</source>
            <translation>用不同样式的下划线标出回复中由草稿模型起草、拷贝以及来自目标模型的词元。</translation>
        </message>
        <message>
            <location filename="../../app/session/preferences.py" />
            <source>macOS asks you for the Accessibility permission.</source>
            <translation>macOS 会请您授予“辅助功能”权限。</translation>
        </message>
        <message>
            <location filename="../../app/session/projects.py" />
            <source>The Documents tool no longer searches the documents of “{project}”.</source>
            <translation>“文档”工具不再搜索“{project}”的文档。</translation>
        </message>
        <message>
            <location filename="../../app/session/projects.py" />
            <source>The Documents tool now searches the documents of “{project}”.</source>
            <translation>“文档”工具现在会搜索“{project}”的文档。</translation>
        </message>
        <message>
            <location filename="../../app/session/projects.py" />
            <source>The {count} chats keep their settings.</source>
            <translation>这 {count} 个对话保留各自的设置。</translation>
        </message>
        <message>
            <location filename="../../app/session/projects.py" />
            <source>Use the Project's Settings</source>
            <translation>使用项目的设置</translation>
        </message>
        <message>
            <location filename="../../app/session/projects.py" />
            <source>“{model}” isn't on this computer. Choose another model in Project Settings.</source>
            <translation>“{model}”不在这台电脑上。请在项目设置中选择其他模型。</translation>
        </message>
        <message>
            <location filename="../../app/session/projects.py" />
            <source>“{title}” keeps its settings.</source>
            <translation>“{title}”保留自己的设置。</translation>
        </message>
        <message>
            <location filename="../../app/session/quick_chat.py" />
            <source>Quick Chat</source>
            <translation>快速对话</translation>
        </message>
        <message>
            <location filename="../../app/session/recommendation.py" />
            <source>Fits comfortably</source>
            <translation>轻松容纳</translation>
        </message>
        <message>
            <location filename="../../app/session/recommendation.py" />
            <source>Fits, but too slow</source>
            <translation>内存足够，但太慢</translation>
        </message>
        <message>
            <location filename="../../app/session/recommendation.py" />
            <source>Gains the most from DFlash. Fewer bits usually give more tokens per second.</source>
            <translation>使用 DFlash 时加速比最大。位数较少时，每秒词元数通常更多。</translation>
        </message>
        <message>
            <location filename="../../app/session/recommendation.py" />
            <source>Memory use unknown</source>
            <translation>内存用量未知</translation>
        </message>
        <message>
            <location filename="../../app/session/recommendation.py" />
            <source>Tight fit</source>
            <translation>勉强容纳</translation>
        </message>
        <message>
            <location filename="../../app/session/recommendation.py" />
            <source>Too large</source>
            <translation>过大</translation>
        </message>
        <message>
            <location filename="../../app/session/recommendation.py" />
            <source>Usually gives the most tokens per second. DFlash helps more with 8 bits.</source>
            <translation>每秒词元数通常最多。位数较多时，DFlash 的加速比更大。</translation>
        </message>
        <message>
            <location filename="../../app/session/reply_run.py" />
            <source>The reply ended unexpectedly. Try again.</source>
            <translation>回复意外结束。请重试。</translation>
        </message>
        <message>
            <location filename="../../app/session/send_consent.py" />
            <source>Cancel</source>
            <translation>取消</translation>
        </message>
        <message>
            <location filename="../../app/session/send_consent.py" />
            <source>Send</source>
            <translation>发送</translation>
        </message>
        <message>
            <location filename="../../app/session/send_consent.py" />
            <source>Send its earlier messages to {host} (not encrypted)?</source>
            <translation>要将之前的消息发送到 {host}（未加密）吗？</translation>
        </message>
        <message>
            <location filename="../../app/session/send_consent.py" />
            <source>Send its earlier messages to {host}?</source>
            <translation>要将之前的消息发送到 {host} 吗？</translation>
        </message>
        <message>
            <location filename="../../app/session/send_consent.py" />
            <source>This chat hasn't been sent to {host} yet.</source>
            <translation>此对话尚未发送到 {host}。</translation>
        </message>
        <message>
            <location filename="../../app/session/send_consent.py" />
            <source>This chat is new to the server.</source>
            <translation>此服务器尚未收到过此对话。</translation>
        </message>
        <message>
            <location filename="../../app/session/send_consent.py" />
            <source>This chat was written on this computer.</source>
            <translation>此对话是在这台电脑上写的。</translation>
        </message>
        <message>
            <location filename="../../app/session/server_agents.py" />
            <source>{agent} isn't installed. To install it, run this command: {how}</source>
            <translation>{agent} 未安装。请用此命令安装，然后重新启动它：{how}</translation>
        </message>
        <message>
            <location filename="../../app/session/services.py" />
            <source>Can't save your settings. Check that the disk isn't full and that {folder} is writable.</source>
            <translation>无法存储您的设置。请检查磁盘是否已满，以及 {folder} 是否可写。</translation>
        </message>
        <message>
            <location filename="../../app/session/services.py" />
            <source>Can't use mcp.json. {reason}</source>
            <translation>无法使用 mcp.json。{reason}</translation>
        </message>
        <message>
            <location filename="../../app/session/services.py" />
            <source>Can't write to your home folder. Settings are stored in {folder} for now.</source>
            <translation>无法写入您的个人文件夹。设置暂存于 {folder}。</translation>
        </message>
        <message>
            <location filename="../../app/session/services.py" />
            <source>The comparison will start when replies to other programs finish.</source>
            <translation>对其他程序的回复完成后，比较将开始。</translation>
        </message>
        <message>
            <location filename="../../app/session/services.py" />
            <source>Your settings are being saved again.</source>
            <translation>您的设置已恢复存储。</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_run.py" />
            <source>Can't start tuning. If you moved or replaced Slipstream, restart it.</source>
            <translation>无法开始调优。如果您移动或替换过 Slipstream，请重新启动它。</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_run.py" />
            <source>Tuning stopped unexpectedly. Details are in {log_file}. You can continue it.</source>
            <translation>调优意外停止。详细信息见 {log_file}。您可以继续调优。</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_run.py" />
            <source>Tuning stopped unexpectedly. You can continue it.</source>
            <translation>调优意外停止。您可以继续调优。</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_run.py" />
            <source>Tuning was paused, because memory is almost full. Quit other apps, then continue.</source>
            <translation>内存几乎已满，因此调优已暂停。请退出其他 App，然后继续。</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_run.py" />
            <source>Tuning was paused, because quiet mode is on. Continue it when you like.</source>
            <translation>安静模式已开启，因此调优已暂停。您可以随时继续。</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_survey.py" />
            <source>A server is in use, and its drafter can't be tuned from here. To tune one, load a model on this computer.</source>
            <translation>正在使用服务器，无法从这里调优其草稿模型。要调优，请载入这台电脑上的模型。</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_survey.py" />
            <source>All saved messages are from one chat. Start another chat, then try again.</source>
            <translation>所有已存储的消息都来自同一个对话。请开始另一个对话，然后重试。</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_survey.py" />
            <source>Can't read the saved chats. Restart Slipstream, then try again.</source>
            <translation>无法读取已存储的对话。请重新启动 Slipstream，然后重试。</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_survey.py" />
            <source>Chats aren't saved, so tuning has no messages to use.</source>
            <translation>对话不会被存储，因此没有可用于调优的消息。</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_survey.py" />
            <source>Load a pair to tune its drafter.</source>
            <translation>载入模型对后即可调优其草稿模型。</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_survey.py" />
            <source>Only DFlash and DFlash 2 drafters can be tuned. This one is of the kind {kind}.</source>
            <translation>只有 DFlash 和 DFlash 2 草稿模型可以调优。此草稿模型的类型是 {kind}。</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_survey.py" />
            <source>The demo pair is part of Slipstream, so its drafter can't be changed. Load another pair, or copy the demo pair's folder and add the copy in Models.</source>
            <translation>演示模型对是 Slipstream 的一部分，因此无法更改其草稿模型。请载入其他模型对，或拷贝演示模型对的文件夹，然后在“模型”中添加该副本。</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_survey.py" />
            <source>The drafter's folder can't be changed. Copy the pair to another folder, then add it in Models.</source>
            <translation>无法更改草稿模型的文件夹。请将模型对拷贝到其他文件夹，然后在“模型”中添加。</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_survey.py" />
            <source>This pair has no drafter to tune. Choose a pair with a DFlash drafter.</source>
            <translation>此模型对没有可调优的草稿模型。请选取带有 DFlash 草稿模型的模型对。</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_survey.py" />
            <source>This pair runs on several Macs. To tune its drafter, turn off the other Macs in Models, and load it again.</source>
            <translation>此模型对在多台 Mac 上运行。要调优其草稿模型，请在“模型”中关闭其他 Mac，然后重新载入。</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_survey.py" />
            <source>Tuning needs about {needed} of memory, but only {free} is free. Quit other apps, then try again.</source>
            <translation>调优约需 {needed} 内存，但只有 {free} 可用。请退出其他 App，然后重试。</translation>
        </message>
        <message>
            <location filename="../../app/session/tuning_survey.py" />
            <source>Tuning needs at least {fewest} different messages in saved chats, but there are only {count}. Chat some more first.</source>
            <translation>调优至少需要已存储的对话中有 {fewest} 条不同的消息，但只有 {count} 条。请先多聊几次。</translation>
        </message>
        <message>
            <location filename="../../app/session/updates.py" />
            <source>Can't check for updates: unexpected response from the server.</source>
            <translation>无法检查更新：服务器返回了意外的应答。</translation>
        </message>
        <message>
            <location filename="../../app/session/updates.py" />
            <source>For this Mac, download {name}.</source>
            <translation>对于这台 Mac，请下载 {name}。</translation>
        </message>
        <message>
            <location filename="../../app/session/updates.py" />
            <source>Slipstream {version} is available. You have {current}. {page}</source>
            <translation>Slipstream {version} 现已推出。您的版本是 {current}。{page}</translation>
        </message>
        <message>
            <location filename="../../app/session/updates.py" />
            <source>Slipstream {version} is the newest version.</source>
            <translation>Slipstream {version} 已是最新版本。</translation>
        </message>
        <message>
            <location filename="../../app/session/updates.py" />
            <source>This copy of Slipstream was built for macOS 14. On this Mac, the one for macOS 26 is faster.</source>
            <translation>此 Slipstream 是为 macOS 14 构建的。在这台 Mac 上，为 macOS 26 构建的版本更快。</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_export.py" />
            <source>Exported the project “{name}” to {to}.</source>
            <translation>已将项目“{name}”导出到 {to}。</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_export.py" />
            <source>Exported {chats} to {to}.</source>
            <translation>已将 {chats}导出到 {to}。</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_export.py" />
            <source>The model reads this summary in place of the messages above:</source>
            <translation>模型读取以下摘要，以代替上面的消息：</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>Messages in “{name}” that can't be read: {count}.</source>
            <translation>“{name}”中无法读取的消息：{count}。</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>More files that can't be read: {count}.</source>
            <translation>其他无法读取的文件：{count}。</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>Skipped a file: {reason}</source>
            <translation>已跳过一个文件：{reason}</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>Skipped {chats} without readable messages.</source>
            <translation>已略过 {chats}，没有可读取的消息。</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>All texts are identical, token for token.</source>
            <translation>所有文本逐词元完全相同。</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>Both are equally fast</source>
            <translation>两者一样快</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>Both replied at the same time</source>
            <translation>两者同时完成了回复</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>Both replied in turns</source>
            <translation>两者轮流回复</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>Both replies are identical, token for token ({tokens}).</source>
            <translation>两个回复逐词元完全相同（{tokens}）。</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>Both replies are identical, token for token ({tokens}, exact mode).</source>
            <translation>两个回复逐词元完全相同（{tokens}，精确模式）。</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>Both replies have the same text ({tokens}).</source>
            <translation>两条回复的文字完全相同（{tokens}）。</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>DFlash is slower here: {ratio}× the plain speed</source>
            <translation>DFlash 在这里较慢：为普通速度的 {ratio} 倍</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>DFlash is {ratio}× as fast</source>
            <translation>DFlash 的速度是 {ratio} 倍</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>Failed</source>
            <translation>失败</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>Lookup</source>
            <translation>查找</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>Plain decoding is the fastest here</source>
            <translation>这里普通解码最快</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>Prompts left out: {count}. {reason}</source>
            <translation>跳过的提示词：{count} 条。{reason}</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>Some texts differ by more than rounding error.</source>
            <translation>有些文本的差异超过了舍入误差。</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>Some texts differ where two tokens are tied within rounding error.</source>
            <translation>有些文本不同，但这是舍入误差范围内的平局。</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>Speed is tokens per second after the first token.</source>
            <translation>速度指第一个词元之后每秒生成的词元数。</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>The replies differ starting at character {character}.</source>
            <translation>两条回复从第 {character} 个字符起不同。</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>The replies differ starting at token {token}, by more than rounding error.</source>
            <translation>两个回复从第 {token} 个词元起不同。这不是舍入造成的平局。</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>The replies differ starting at token {token}, where two tokens are tied within rounding error.</source>
            <translation>两个回复从第 {token} 个词元起不同。这是舍入误差范围内的平局。</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>The replies differ starting at token {token}.</source>
            <translation>两条回复从第 {token} 个词元起不同。</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>The replies took turns instead of being computed together. Their speeds can't be compared.</source>
            <translation>两个回复轮流计算，而不是一起计算，无法比较它们的速度。</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>The replies were computed together, so their speeds can't be compared.</source>
            <translation>两个回复是一起计算的，因此无法比较它们的速度。</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>The reply is too short to measure speed</source>
            <translation>回复太短，无法测量速度</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>The scores of the two tokens differ by {margin}.</source>
            <translation>两个词元的分数相差 {margin}。</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>different</source>
            <translation>不同</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>differs at token {token}</source>
            <translation>从第 {token} 个词元起不同</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>identical</source>
            <translation>相同</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>tie</source>
            <translation>平局</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>tie at token {token}</source>
            <translation>第 {token} 个词元平局</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>{identical} of {count} identical</source>
            <translation>{count} 条中有 {identical} 条相同</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>{name} is the fastest here: {ratio}× the plain speed</source>
            <translation>{name} 在这里最快：普通解码速度的 {ratio} 倍</translation>
        </message>
        <message>
            <location filename="../../app/storage/comparison_record.py" />
            <source>{name} is {ratio}× as fast</source>
            <translation>{name} 的速度是另一方的 {ratio} 倍</translation>
        </message>
        <message>
            <location filename="../../app/storage/database.py" />
            <source>Can't open your chats in {file} ({error}), so new chats won't be saved.</source>
            <translation>无法打开 {file} 中的对话（{error}），因此新对话不会被存储。</translation>
        </message>
        <message>
            <location filename="../../app/storage/database.py" />
            <source>Not recovered: {chats}.</source>
            <translation>未恢复：{chats}。</translation>
        </message>
        <message>
            <location filename="../../app/storage/database.py" />
            <source>Nothing could be recovered.</source>
            <translation>未能恢复任何内容。</translation>
        </message>
        <message>
            <location filename="../../app/storage/database.py" />
            <source>Recovered {chats} and moved the old file to {aside}.</source>
            <translation>已恢复 {chats}，旧文件已移到 {aside}。</translation>
        </message>
        <message>
            <location filename="../../app/storage/database.py" />
            <source>Slipstream can't write to {folder}, so new chats won't be saved.</source>
            <translation>Slipstream 无法写入 {folder}，因此新对话不会被存储。</translation>
        </message>
        <message>
            <location filename="../../app/storage/database.py" />
            <source>Some chats or messages may be missing.</source>
            <translation>部分对话或消息可能缺失。</translation>
        </message>
        <message>
            <location filename="../../app/storage/database.py" />
            <source>The chat file isn't a Slipstream database.</source>
            <translation>对话文件不是 Slipstream 数据库。</translation>
        </message>
        <message>
            <location filename="../../app/storage/database.py" />
            <source>The old file was moved to {aside}.</source>
            <translation>旧文件已移到 {aside}。</translation>
        </message>
        <message>
            <location filename="../../app/storage/database.py" />
            <source>Your chat database is damaged.</source>
            <translation>对话数据库已损坏。</translation>
        </message>
        <message>
            <location filename="../../app/storage/database.py" />
            <source>Your chats were saved by a newer version of Slipstream. Update Slipstream, then import the chats.</source>
            <translation>对话由较新版本的 Slipstream 存储。请更新 Slipstream，然后导入这些对话。</translation>
        </message>
        <message>
            <location filename="../../app/storage/salvage.py" />
            <source>The file is damaged, and {chats} couldn't be recovered.</source>
            <translation>文件已损坏，无法恢复 {chats}。</translation>
        </message>
        <message>
            <location filename="../../app/storage/salvage.py" />
            <source>The file is damaged, so some messages may be missing.</source>
            <translation>文件已损坏，部分消息可能缺失。</translation>
        </message>
        <message>
            <location filename="../../app/storage/settings.py" />
            <source>Balanced</source>
            <translation>均衡</translation>
        </message>
        <message>
            <location filename="../../app/storage/settings.py" />
            <source>Creative</source>
            <translation>创意</translation>
        </message>
        <message>
            <location filename="../../app/storage/settings.py" />
            <source>Model defaults</source>
            <translation>模型默认值</translation>
        </message>
        <message>
            <location filename="../../app/storage/settings.py" />
            <source>Precise</source>
            <translation>精确</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Almost no drafts were accepted, probably because {cause}.</source>
            <translation>几乎没有草稿被接受，可能的原因：{cause}。</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Compare all drafters of this model to find a better one.</source>
            <translation>比较此模型的所有草稿模型，找到更合适的一个。</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Connect it to power for full speed.</source>
            <translation>要全速运行，请接通电源。</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Later replies in this chat start sooner.</source>
            <translation>此对话中之后的回复会更早开始。</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Let it cool, for example with Chat ▸ Quiet Mode.</source>
            <translation>请让它降温，例如用“对话”&gt;“安静模式”。</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Low Power Mode</source>
            <translation>低电量模式</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Low Power Mode was on.</source>
            <translation>低电量模式已开启。</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Other programs needed memory during this reply.</source>
            <translation>回复期间，其他程序需要内存。</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Other replies were generated at the same time.</source>
            <translation>当时还在生成其他回复。</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Quiet mode was on: this computer rested for {rest} of {time}.</source>
            <translation>安静模式已开启：{time} 中，这台电脑休息了 {rest}。</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Quit other apps, or choose a smaller model.</source>
            <translation>请退出其他 App，或选择较小的模型。</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Reading {tokens} new prompt tokens took {seconds}.</source>
            <translation>读取 {tokens} 个新的提示词词元用了 {seconds}。</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Replies usually reach {rate}.</source>
            <translation>回复通常可达 {rate}。</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Reply {number}: {rate}. {cause}</source>
            <translation>回复 {number}：{rate}。{cause}</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Slow start: new prompt</source>
            <translation>开始慢：新提示词</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Slower: Low Power Mode</source>
            <translation>变慢：低电量模式</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Slower: few drafts accepted</source>
            <translation>变慢：接受的草稿少</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Slower: heat</source>
            <translation>变慢：过热</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Slower: low memory</source>
            <translation>变慢：内存不足</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Slower: on battery</source>
            <translation>变慢：使用电池</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Slower: other replies</source>
            <translation>变慢：其他回复</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Slower: quiet mode</source>
            <translation>变慢：安静模式</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Stop other replies to have one sooner.</source>
            <translation>停止其他回复，可更快得到一个回复。</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>The drafter predicted this text less well than usual.</source>
            <translation>草稿模型对这段文字的预测不如平时。</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>This computer ran on its battery, at {charge}.</source>
            <translation>这台电脑使用电池供电，电量 {charge}。</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>This computer ran on its battery.</source>
            <translation>这台电脑使用电池供电。</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>This computer was hot, and slowed down.</source>
            <translation>这台电脑过热，因此变慢。</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>This reply waited {seconds} for others.</source>
            <translation>此回复等待其他回复 {seconds}。</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>Turn it off in your system's settings for full speed.</source>
            <translation>要全速运行，请在系统设置中关闭。</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>You can turn it off with Chat ▸ Quiet Mode.</source>
            <translation>可以用“对话”&gt;“安静模式”关闭。</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>hot</source>
            <translation>过热</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>low memory</source>
            <translation>内存不足</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>on battery</source>
            <translation>使用电池</translation>
        </message>
        <message>
            <location filename="../../app/storage/slow_wording.py" />
            <source>on battery ({charge})</source>
            <translation>使用电池（{charge}）</translation>
        </message>
        <message>
            <location filename="../../app/storage/store_thread.py" />
            <source>Can't open your chats ({error}). New chats won't be saved.</source>
            <translation>无法打开对话（{error}）。新对话不会被存储。</translation>
        </message>
        <message>
            <location filename="../../app/storage/store_thread.py" />
            <source>Can't read your chats: {error}.</source>
            <translation>无法读取对话：{error}。</translation>
        </message>
        <message>
            <location filename="../../app/storage/store_thread.py" />
            <source>Can't save your chats: {error}. Slipstream will keep trying.</source>
            <translation>无法存储您的对话：{error}。Slipstream 会继续尝试。</translation>
        </message>
        <message>
            <location filename="../../app/storage/store_thread.py" />
            <source>Your chat database is damaged ({error}). Export what you need, then restart Slipstream.</source>
            <translation>对话数据库已损坏（{error}）。请导出所需内容，然后重新启动 Slipstream。</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>1 byte</source>
            <translation>1 字节</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>1 chat</source>
            <translation>1 个对话</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>1 token</source>
            <translation>1 个词元</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>1 word</source>
            <translation>1 个词</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Accepted</source>
            <translation>已接受</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Almost no drafts were accepted, probably because {cause}</source>
            <translation>几乎没有草稿被接受，可能的原因：{cause}</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Calculator</source>
            <translation>计算器</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Checked per round</source>
            <translation>每轮检查</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>DFlash isn't available: {why}</source>
            <translation>DFlash 不可用：{why}</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>DFlash off</source>
            <translation>DFlash 已关</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Drafted</source>
            <translation>已起草</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Drafter</source>
            <translation>草稿模型</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>End</source>
            <translation>结束</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Exact mode</source>
            <translation>精确模式</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>First token</source>
            <translation>首个词元</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>GPU error</source>
            <translation>GPU 错误</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Length</source>
            <translation>长度</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Measured</source>
            <translation>测量</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Mode</source>
            <translation>模式</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Mostly plain</source>
            <translation>大多普通</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>No drafter</source>
            <translation>无草稿模型</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Not answered</source>
            <translation>未回答</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Not read: {names}.</source>
            <translation>未读取：{names}。</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Note</source>
            <translation>提示</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Peak memory</source>
            <translation>内存峰值</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Plain</source>
            <translation>普通</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Plain steps</source>
            <translation>普通步数</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Prompt</source>
            <translation>提示词</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Prompt processing</source>
            <translation>处理提示词</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Rounds</source>
            <translation>轮数</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Seed</source>
            <translation>种子</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Speed</source>
            <translation>速度</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Step {number}</source>
            <translation>第 {number} 步</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>The server doesn't report its speed, so Slipstream measured how fast text arrived.</source>
            <translation>服务器不报告速度，因此 Slipstream 测量了文本到达的速度。</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Thinking…</source>
            <translation>正在思考…</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>This model can't see images.</source>
            <translation>此模型无法查看图像。</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>This model is loaded without a drafter.</source>
            <translation>此模型载入时没有草稿模型。</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Thought for {seconds}</source>
            <translation>思考了 {seconds}</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Thoughts</source>
            <translation>思考</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>Wait time</source>
            <translation>等待时间</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>about {tokens}</source>
            <translation>约 {tokens}</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>after {seconds}</source>
            <translation>{seconds} 后</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>an image from a tool</source>
            <translation>工具返回的图像</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>another program is using the file</source>
            <translation>另一个程序正在使用该文件</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>by the server</source>
            <translation>由服务器测量</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>context full</source>
            <translation>上下文已满</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>ended with a tool call</source>
            <translation>以工具调用结束</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>ended with an error</source>
            <translation>因错误结束</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>first token after {ttft_s}</source>
            <translation>{ttft_s} 后输出首个词元</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>interrupted: Slipstream quit before the reply was complete</source>
            <translation>已中断：Slipstream 在回复完成前退出</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>reached a stop sequence</source>
            <translation>遇到停止序列</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>reached the limit of {max_tokens} tokens</source>
            <translation>达到 {max_tokens} 个词元的上限</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>reading prompt: {done} of {total} tokens</source>
            <translation>正在读取提示词：{done}/{total} 个词元</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>same text with or without DFlash</source>
            <translation>不使用 DFlash 时文本相同</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>stopped</source>
            <translation>已停止</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>the disk is full</source>
            <translation>磁盘已满</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>the disk reports an error</source>
            <translation>磁盘报告错误</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>the file can't be opened</source>
            <translation>无法打开该文件</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>the file or its folder is read-only</source>
            <translation>文件或其文件夹为只读</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{accepted} ({share})</source>
            <translation>{accepted}（{share}）</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{accepted} ({share}), {unused} of them past the end of the reply</source>
            <translation>{accepted}（{share}），其中 {unused} 个在回复结尾之后</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{accepted} of {tested} accepted</source>
            <translation>{tested} 个中接受 {accepted} 个</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{count} bytes</source>
            <translation>{count} 字节</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{count} chats</source>
            <translation>{count} 个对话</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{count} more</source>
            <translation>还有 {count} 个</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{count} tokens</source>
            <translation>{count} 个词元</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{count} tokens/round</source>
            <translation>每轮 {count} 个词元</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{count} words</source>
            <translation>{count} 个词</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{count}%</source>
            <translation>{count}%</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{count}, {tokens}, read in {seconds}</source>
            <translation>{count} 张，{tokens}，读取用时 {seconds}</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{name} (lost)</source>
            <translation>{name}（已丢失）</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{name} (page {page})</source>
            <translation>{name}（第 {page} 页）</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{name} (pages {pages})</source>
            <translation>{name}（第 {pages} 页）</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{name}, tuned</source>
            <translation>{name}，已调优</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{name}: {value}</source>
            <translation>{name}：{value}</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{prompt_tokens} tokens, {reused_tokens} reused</source>
            <translation>{prompt_tokens} 个词元，复用 {reused_tokens} 个</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{rate} (measured here)</source>
            <translation>{rate}（在本机测量）</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{rate} tok/s</source>
            <translation>{rate} 词元/秒</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{reused} of {total} prompt tokens reused</source>
            <translation>{total} 个提示词词元中复用 {reused} 个</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{reused} of {total} tokens from the disk cache</source>
            <translation>{total} 个词元中有 {reused} 个来自缓存（磁盘）</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{share} accepted</source>
            <translation>接受率 {share}</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>{steps} plain steps: {why}</source>
            <translation>{steps} 个未用草稿：{why}</translation>
        </message>
        <message>
            <location filename="../../app/storage/wording.py" />
            <source>“{quoted}”</source>
            <translation>“{quoted}”</translation>
        </message>
        <message>
            <location filename="../../app/text/dates.py" />
            <source>MMM d</source>
            <translation>M月d日</translation>
        </message>
        <message>
            <location filename="../../app/text/dates.py" />
            <source>MMM d, yyyy</source>
            <translation>yyyy年M月d日</translation>
        </message>
        <message>
            <location filename="../../app/text/dates.py" />
            <source>MMMM yyyy</source>
            <translation>yyyy年M月</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/announcer.py" />
            <source>In “{title}”: {said}</source>
            <translation>在“{title}”中：{said}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/announcer.py" />
            <source>Reply ended: {ending}</source>
            <translation>回复完成，{ending}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/announcer.py" />
            <source>Reply finished</source>
            <translation>回复完成</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/announcer.py" />
            <source>The reply failed. {error}</source>
            <translation>回复失败。{error}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/announcer.py" />
            <source>{server} wants to run “{tool}”: {arguments}</source>
            <translation>{server} 想要运行“{tool}”：{arguments}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/announcer.py" />
            <source>{tool} needs approval: {arguments}</source>
            <translation>{tool}需要批准：{arguments}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Chat Settings</source>
            <translation>对话设置</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Close settings</source>
            <translation>关闭设置</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Custom</source>
            <translation>自定</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Delete</source>
            <translation>删除</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Delete this preset</source>
            <translation>删除此预设</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Done</source>
            <translation>完成</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Drops tokens below this fraction of the top token's probability; 0 keeps all.</source>
            <translation>舍弃概率低于最可能词元概率这一比例的词元；0 表示全部保留。</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Frequency penalty</source>
            <translation>频率惩罚</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Higher values add variety; 0 always picks the most likely token.</source>
            <translation>数值越高变化越多；0 总是选取最可能的词元。</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Instructions for the model, such as a role, tone, or language</source>
            <translation>给模型的指示，例如角色、语气或语言</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Keeps only this many of the most likely tokens.</source>
            <translation>仅保留这么多个最可能的词元。</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Keeps the most likely tokens up to this total probability; 1 keeps all.</source>
            <translation>保留累计概率达到此值的最可能词元；1 表示全部保留。</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Leave empty for a random seed.</source>
            <translation>留空则使用随机种子。</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Limits the length of a reply.</source>
            <translation>限制回复的长度。</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Name:</source>
            <translation>名称：</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Penalizes tokens more each time they appear.</source>
            <translation>词元每出现一次，惩罚就加重一分。</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Penalizes tokens that have already appeared.</source>
            <translation>惩罚已经出现过的词元。</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Presence penalty</source>
            <translation>出现惩罚</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Preset</source>
            <translation>预设</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Private chat</source>
            <translation>私密对话</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Random</source>
            <translation>随机</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Repetition penalty</source>
            <translation>重复惩罚</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Reset</source>
            <translation>还原</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Reset to defaults</source>
            <translation>还原为默认值</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Save As…</source>
            <translation>存储为…</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Save Preset</source>
            <translation>存储预设</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Save as a preset</source>
            <translation>存储为预设</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Temperature</source>
            <translation>温度</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>The model thinks before it answers.</source>
            <translation>模型会先思考再回答。</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Thinking</source>
            <translation>思考</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>This chat is neither cached nor sent to servers.</source>
            <translation>此对话不会缓存，也不会发送到服务器。</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Token limit</source>
            <translation>词元上限</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/chat_settings.py" />
            <source>Values above 1 make repeated tokens less likely.</source>
            <translation>大于 1 的值会降低重复词元的概率。</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/composer.py" />
            <source>Attach files</source>
            <translation>附加文件</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/composer.py" />
            <source>Message Slipstream</source>
            <translation>给 Slipstream 发消息</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/composer.py" />
            <source>Send (Return)</source>
            <translation>发送（回车）</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dropped.py" />
            <source>Drop files and images to attach them</source>
            <translation>拖放文件和图像即可附加</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/file_area.py" />
            <source>{name} and {count} more</source>
            <translation>{name} 和另外 {count} 个</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>Cancel the import</source>
            <translation>取消导入</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>Context</source>
            <translation>上下文</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>Don't send the message</source>
            <translation>不发送此消息</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>Export…</source>
            <translation>导出…</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>Importing “{name}”: {share}</source>
            <translation>正在导入“{name}”：{share}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>Messages go to a server on this computer ({host})</source>
            <translation>消息会发送到这台电脑上的服务器（{host}）</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>Messages go to {host}</source>
            <translation>消息将发送到 {host}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>Open the chat that needs your approval</source>
            <translation>打开需要您批准的对话</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>Replies stop when the chat fills the context</source>
            <translation>对话占满上下文后，回复会停止</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>Save a copy of this chat to another location</source>
            <translation>将此对话的副本存储到其他位置</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>The latest changes in this chat aren't saved.</source>
            <translation>此对话的最新更改尚未存储。</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>The latest changes in this chat can't be saved: {reason}.</source>
            <translation>无法存储此对话的最新更改：{reason}。</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>The oldest messages are left out when the chat fills the context</source>
            <translation>对话占满上下文后，会省略最早的消息</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>This private chat isn't sent to {host}</source>
            <translation>此私密对话不会发送到 {host}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/foot.py" />
            <source>“{title}” needs your approval for a tool call.</source>
            <translation>“{title}”的工具调用需要您的批准。</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/full_context.py" />
            <source>Cancel the summary</source>
            <translation>取消生成摘要</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/full_context.py" />
            <source>Continue with a Rolling Window</source>
            <translation>以滚动窗口继续</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/full_context.py" />
            <source>Leaves out the oldest messages but keeps them in the chat</source>
            <translation>省略最早的消息，但仍保留在对话中</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/full_context.py" />
            <source>Lets the model summarize the older messages, which stay in the chat</source>
            <translation>让模型总结较早的消息，这些消息仍保留在聊天中</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/full_context.py" />
            <source>Summarizing older messages…</source>
            <translation>正在总结较早的消息…</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/full_context.py" />
            <source>The model's context is full, and “{name}” is larger than all of it. Remove the file.</source>
            <translation>模型的上下文已满，而且“{name}”超过了整个上下文。请移除该文件。</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/full_context.py" />
            <source>The model's context is full. Continue here, or edit an earlier message.</source>
            <translation>模型的上下文已满。可以在此继续，或编辑之前的消息。</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/message_editor.py" />
            <source>Cancel editing</source>
            <translation>取消编辑</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/message_editor.py" />
            <source>Edit your message</source>
            <translation>编辑你的消息</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/message_editor.py" />
            <source>Keeps this version and its replies</source>
            <translation>保留此版本及其回复</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/message_editor.py" />
            <source>Message</source>
            <translation>消息</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/message_editor.py" />
            <source>Send the edited message</source>
            <translation>发送编辑后的消息</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/message_field.py" />
            <source>Image {number}</source>
            <translation>图像 {number}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/message_field.py" />
            <source>This image is on a web page. Save it first, then attach the file.</source>
            <translation>此图像位于网页上。请先存储，然后附加该文件。</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/notice_bar.py" />
            <source>Choose Another…</source>
            <translation>选取其他模型…</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/notice_bar.py" />
            <source>Choose another model</source>
            <translation>选取其他模型</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/notice_bar.py" />
            <source>Close</source>
            <translation>关闭</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/notice_bar.py" />
            <source>Close, and show the notice before</source>
            <translation>关闭并显示上一条提示</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/notice_bar.py" />
            <source>Error</source>
            <translation>错误</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/notice_bar.py" />
            <source>Learn More</source>
            <translation>了解更多</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/notice_bar.py" />
            <source>Load the demo pair</source>
            <translation>载入演示模型对</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/notice_bar.py" />
            <source>Open Help about this problem</source>
            <translation>打开有关此问题的帮助</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/notice_bar.py" />
            <source>Reconnect</source>
            <translation>重新连接</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/notice_bar.py" />
            <source>Try Again</source>
            <translation>重试</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/notice_bar.py" />
            <source>Use Demo</source>
            <translation>使用演示模型对</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Add Files…</source>
            <translation>添加文件…</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Add Folder…</source>
            <translation>添加文件夹…</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Ask before each call to {tool}</source>
            <translation>每次调用 {tool} 前询问</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Choose Files That Models May Read</source>
            <translation>选择模型可以读取的文件</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Choose a Folder That Models May Read</source>
            <translation>选取模型可以读取的文件夹</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Existing chats keep their settings.</source>
            <translation>已有的对话保留各自的设置。</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Loaded when a chat begins in this project.</source>
            <translation>在此项目中新建对话时载入。</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Model</source>
            <translation>模型</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Name</source>
            <translation>名称</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>New chats in this project</source>
            <translation>此项目中的新对话</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>On in new chats. You approve each call.</source>
            <translation>在新对话中开启。每次调用都需要您批准。</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Project Settings</source>
            <translation>项目设置</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Remove</source>
            <translation>移除</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Remove {path}</source>
            <translation>移除 {path}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Revoke</source>
            <translation>撤销</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>The Documents tool searches them in this project's chats only.</source>
            <translation>“文档”工具仅在此项目的对话中搜索它们。</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>The model in use</source>
            <translation>正在使用的模型</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Tools of {server}</source>
            <translation>{server} 的工具</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>Use the settings of all new chats</source>
            <translation>使用所有新对话的设置</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/project_settings.py" />
            <source>{tool}: always allowed</source>
            <translation>{tool}：始终允许</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/quiet_note.py" />
            <source>Quiet mode then stays off on battery, too</source>
            <translation>之后使用电池时，安静模式也保持关闭</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/quiet_note.py" />
            <source>Quiet mode, on battery: replies take about twice as long</source>
            <translation>安静模式（使用电池）：回复用时约为两倍</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/quiet_note.py" />
            <source>Quiet mode: replies take about twice as long</source>
            <translation>安静模式：回复用时约为两倍</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/quiet_note.py" />
            <source>Turn Off</source>
            <translation>关闭</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/quiet_note.py" />
            <source>Turn off quiet mode</source>
            <translation>关闭安静模式</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/thinking_button.py" />
            <source>Let the model think before its next reply</source>
            <translation>让模型在下一条回复前思考</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/thinking_button.py" />
            <source>This model can't think before it answers.</source>
            <translation>此模型不能在回答前思考。</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/unread_bar.py" />
            <source>Choose Model…</source>
            <translation>选择模型…</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/unread_bar.py" />
            <source>Choose a model that sees images</source>
            <translation>选择能看图像的模型</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>A server's replies can only be compared one after the other.</source>
            <translation>服务器的回复只能依次比较。</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>All drafters</source>
            <translation>所有草稿模型</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>Both at the same time</source>
            <translation>两者同时进行</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>Both modes reply at the same time, with the same seed and settings. Their speeds can't be compared.</source>
            <translation>两种模式同时回复，使用相同的种子和设置，无法比较它们的速度。</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>Compare with this computer</source>
            <translation>与这台电脑比较</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>Compares every drafter of this model that is on this computer</source>
            <translation>比较这台电脑上该模型的所有草稿模型</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>Compares the drafters on several prompts, each with the messages before it</source>
            <translation>用多条提示词比较草稿模型，每条都包含之前的消息</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>Compares the server with the pair last used on this computer</source>
            <translation>将服务器与上次在这台电脑上使用的模型对进行比较</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>Computes all replies in exact mode, so that they can't differ</source>
            <translation>以精确模式计算所有回复，使其不会出现差异</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>Computes both replies together. Their speeds can't be compared then.</source>
            <translation>同时计算两个回复，此时无法比较它们的速度。</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>Drafters are loaded one after the other, so they can't reply at the same time.</source>
            <translation>草稿模型会依次载入，因此无法同时回复。</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>Guarantee identical text (slower)</source>
            <translation>保证文本完全相同（较慢）</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>Last {count} prompts of this chat</source>
            <translation>此对话的最近 {count} 条提示词</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>The drafters answer the last {count} prompts of this chat, one drafter after the other.</source>
            <translation>草稿模型依次回答此对话的最近 {count} 条提示词。</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>The drafters are loaded one after the other. Seed and settings are the same for all.</source>
            <translation>草稿模型会依次载入，种子和设置都相同。</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>The message before this prompt is included.</source>
            <translation>包含此提示词之前的消息。</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>The modes run one after the other, with the same seed and settings.</source>
            <translation>两种模式依次运行，使用相同的种子和设置。</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>The pair on this computer replies first, then the server. The replies may differ.</source>
            <translation>先由这台电脑上的模型对回复，再由服务器回复。两条回复可能不同。</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_options.py" />
            <source>The {count} messages before this prompt are included.</source>
            <translation>包含此提示词之前的 {count} 条消息。</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_side.py" />
            <source>Differs from here on: “{words}”</source>
            <translation>从此处起不同：“{words}”</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_side.py" />
            <source>Ends here; the other reply continues</source>
            <translation>到此结束；另一条回复继续</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_side.py" />
            <source>Go to the first difference</source>
            <translation>转到第一处差异</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_side.py" />
            <source>Memory</source>
            <translation>内存</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_side.py" />
            <source>Spaces or line breaks differ from here on</source>
            <translation>从此处起空格或换行不同</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_side.py" />
            <source>Thinking ends here; the other reply continues</source>
            <translation>思考到此结束；另一条回复继续</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_side.py" />
            <source>Tokens</source>
            <translation>词元</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_side.py" />
            <source>Tokens/round</source>
            <translation>词元/轮</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_side.py" />
            <source>tok/s</source>
            <translation>词元/秒</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_side.py" />
            <source>{description}. Go to the first difference</source>
            <translation>{description}。转到第一处差异</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_side.py" />
            <source>{mode} reply</source>
            <translation>{mode} 回复</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>1 run each</source>
            <translation>各 1 次</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Both modes at the same time, run {index} of {total}</source>
            <translation>两种模式同时运行，第 {index} 次，共 {total} 次</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Compare</source>
            <translation>比较</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Compare plain decoding with DFlash</source>
            <translation>比较普通解码与 DFlash</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Comparing…</source>
            <translation>正在比较…</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Comparison failed</source>
            <translation>比较失败</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Comparison of {stem}</source>
            <translation>比较 {stem}</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Copy Image</source>
            <translation>拷贝图像</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Copy an image of this comparison</source>
            <translation>拷贝此比较的图像</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Enter a prompt to compare</source>
            <translation>输入要比较的提示词</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>History</source>
            <translation>历史</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Image copied.</source>
            <translation>图像已拷贝。</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>JSON (*.json)</source>
            <translation>JSON (*.json)</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Loading the models</source>
            <translation>正在载入模型</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Median of {repeats} runs each</source>
            <translation>各 {repeats} 次的中位数</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>PNG image (*.png)</source>
            <translation>PNG 图像 (*.png)</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Result</source>
            <translation>结果</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Runs per mode</source>
            <translation>每种模式的运行次数</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Save Image</source>
            <translation>存储图像</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Save Image…</source>
            <translation>存储图像…</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Save Results</source>
            <translation>存储结果</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Save Results…</source>
            <translation>存储结果…</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Save an image of this comparison</source>
            <translation>存储此比较的图像</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Save this comparison as JSON</source>
            <translation>将此比较存储为 JSON</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Show or hide earlier comparisons</source>
            <translation>显示或隐藏以前的比较</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Stop</source>
            <translation>停止</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Stop comparing</source>
            <translation>停止比较</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Stopped</source>
            <translation>已停止</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>This prompt had files, which comparisons don't keep. Comparing again sends only its text.</source>
            <translation>此提示词带有文件，但比较不会存储文件。再次比较只会发送其文本。</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Use the fastest drafter</source>
            <translation>使用最快的草稿模型</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Use {name}</source>
            <translation>使用 {name}</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>Verdict</source>
            <translation>结论</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>a prompt</source>
            <translation>提示词</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>{count} runs each</source>
            <translation>各 {count} 次</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/compare_view.py" />
            <source>{mode}, run {index} of {total}</source>
            <translation>{mode}，第 {index} 次，共 {total} 次</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/comparison_card.py" />
            <source>One run each</source>
            <translation>各一次</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/comparison_card.py" />
            <source>at the same time</source>
            <translation>同时运行</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/comparison_card.py" />
            <source>greedy</source>
            <translation>贪心</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/comparison_card.py" />
            <source>one after the other</source>
            <translation>依次运行</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/comparison_card.py" />
            <source>temperature {temperature}</source>
            <translation>温度 {temperature}</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/comparison_card.py" />
            <source>{runs}, {order} · same seed ({seed}) and settings · {sampling} · {machine}</source>
            <translation>{runs}，{order} · 相同种子（{seed}）和设置 · {sampling} · {machine}</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/history_list.py" />
            <source>All pairs</source>
            <translation>所有模型对</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/history_list.py" />
            <source>Earlier comparisons</source>
            <translation>以前的比较</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/history_list.py" />
            <source>Filter by pair</source>
            <translation>按模型对筛选</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/history_list.py" />
            <source>Not measured</source>
            <translation>未测量</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/history_list.py" />
            <source>Together</source>
            <translation>同时</translation>
        </message>
        <message>
            <location filename="../../app/views/compare/history_list.py" />
            <source>Your comparisons appear here.</source>
            <translation>您的比较会显示在这里。</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>A server is in use. To measure this computer, load a model.</source>
            <translation>正在使用服务器。要测量这台电脑，请载入模型。</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Answers prompts with and without the drafter, one after the other. Published sets are downloaded from the model hub.</source>
            <translation>依次在使用和不使用草稿模型的情况下回答提示词。已发布的提示词集从模型 Hub 下载。</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Benchmark</source>
            <translation>基准测试</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Benchmark progress</source>
            <translation>基准测试进度</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Benchmark report (*.json)</source>
            <translation>基准测试报告 (*.json)</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Built-in prompts</source>
            <translation>内置提示词</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Continue</source>
            <translation>继续</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Delete these prompts from disk</source>
            <translation>从磁盘删除这些提示词</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Downloading the prompts: {share}</source>
            <translation>正在下载提示词：{share}</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Let the model think before it answers</source>
            <translation>让模型在回答前思考</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Load a model to measure it.</source>
            <translation>载入模型后即可测量。</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Number</source>
            <translation>数量</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Paper: what the DFlash paper reports for this model.</source>
            <translation>Paper：DFlash 论文中该模型的结果。</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Pause</source>
            <translation>暂停</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Pause the benchmark</source>
            <translation>暂停基准测试</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Picture of the benchmark</source>
            <translation>基准测试图片</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Prompts</source>
            <translation>提示词</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Remove Download</source>
            <translation>移除下载</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>SVG picture (*.svg)</source>
            <translation>SVG 图片 (*.svg)</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Save Picture</source>
            <translation>存储图片</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Save Picture…</source>
            <translation>存储图片…</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Save Report</source>
            <translation>存储报告</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Save Report…</source>
            <translation>存储报告…</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Start</source>
            <translation>开始</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>Stop the benchmark</source>
            <translation>停止基准测试</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>paused</source>
            <translation>已暂停</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/benchmark_dialog.py" />
            <source>{done} of {total} replies</source>
            <translation>已完成 {done} / {total} 个回复</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/memory_bar.py" />
            <source>Computing</source>
            <translation>计算</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/memory_bar.py" />
            <source>Earlier prompts</source>
            <translation>早前的提示词</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/memory_bar.py" />
            <source>Memory is almost full. Background work is paused, and new replies may be refused.</source>
            <translation>内存几乎已满。后台工作已暂停，新的回复可能会被拒绝。</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/memory_bar.py" />
            <source>Memory is running low. Only one reply runs at a time.</source>
            <translation>内存不足。同一时间只生成一个回复。</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/memory_bar.py" />
            <source>Memory is running low. Slipstream has freed what it doesn't need now.</source>
            <translation>内存不足。Slipstream 已释放暂时不需要的内存。</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/memory_bar.py" />
            <source>Other apps and the system</source>
            <translation>其他 App 和系统</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/memory_bar.py" />
            <source>Running replies</source>
            <translation>正在生成的回复</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/memory_bar.py" />
            <source>Slipstream itself</source>
            <translation>Slipstream 本身</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/memory_bar.py" />
            <source>Tuning</source>
            <translation>调优</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/memory_bar.py" />
            <source>Unused buffers</source>
            <translation>未使用的缓冲区</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/memory_bar.py" />
            <source>up to {budget} for models</source>
            <translation>最多 {budget} 可用于模型</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/memory_bar.py" />
            <source>{free} available</source>
            <translation>{free} 可用</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/memory_bar.py" />
            <source>{reserved} reserved for running replies</source>
            <translation>已为正在生成的回复预留 {reserved}</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Above 100%: these weights fit in the processor cache, which is faster than memory.</source>
            <translation>超过 100 %：这些权重可放入处理器缓存，其速度快于内存。</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Benchmark…</source>
            <translation>基准测试…</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Block drafting</source>
            <translation>起草块</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Block verification</source>
            <translation>校验块</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Compute</source>
            <translation>计算能力</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Kernels will be tested when Low Power Mode is off.</source>
            <translation>关闭低电量模式后将测试内核。</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Kernels will be tested when this Mac has cooled down.</source>
            <translation>这台 Mac 降温后将测试内核。</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Kernels will be tested when this Mac is connected to power.</source>
            <translation>这台 Mac 接通电源后将测试内核。</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Large matrix products</source>
            <translation>大型矩阵乘积</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Large matrix products, {dtype}</source>
            <translation>大型矩阵乘积，{dtype}</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Long-context kernels are used at {count} tokens and above.</source>
            <translation>从 {count} 个词元起使用长上下文的内核。</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Matrix-vector products with 0.5 GB of weights</source>
            <translation>对 0.5 GB 权重做矩阵-向量乘积</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Measure Again</source>
            <translation>重新测量</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Measured {date}</source>
            <translation>测量于 {date}</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Measurement progress</source>
            <translation>测量进度</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Measurement stopped.</source>
            <translation>测量已停止。</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Measuring continues when Slipstream is idle.</source>
            <translation>Slipstream 空闲时将继续测量。</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Measuring continues when quiet mode is off.</source>
            <translation>关闭安静模式后将继续测量。</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Memory bandwidth</source>
            <translation>内存带宽</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Metal kernels</source>
            <translation>Metal 内核</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Not measured yet.</source>
            <translation>尚未测量。</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Operations per byte read</source>
            <translation>每读取一个字节的运算次数</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Plain step</source>
            <translation>普通步骤</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Roofline of this computer</source>
            <translation>这台电脑的 Roofline</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>Test Kernels</source>
            <translation>测试内核</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>This Computer</source>
            <translation>这台电脑</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>This Mac</source>
            <translation>这台 Mac</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>off</source>
            <translation>关闭</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>on</source>
            <translation>开启</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>reference BLAS (slow)</source>
            <translation>参考 BLAS（较慢）</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>{count} cores</source>
            <translation>{count} 个核心</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>{memory} of memory, {models} for models</source>
            <translation>{memory} 内存，{models} 可用于模型</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>{pair}: plain decoding reads {size} MB per token, so memory limits it to {rate} tokens per second. DFlash reads the same amount for a whole block of tokens.</source>
            <translation>{pair}：普通解码每个词元读取 {size} MB，内存将其限制在每秒 {rate} 个词元。DFlash 读取同样多的数据即可处理整个块。</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>{pair}: plain decoding reads {size} MB per token. That fits in the processor cache, so memory doesn't limit it.</source>
            <translation>{pair}：普通解码每个词元读取 {size} MB。这些数据可放入处理器缓存，因此不受内存限制。</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>{phase}: {share} of the limit</source>
            <translation>{phase}：达到上限的 {share}</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>{share} of the compute limit</source>
            <translation>计算上限的 {share}</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>{share} of the memory limit</source>
            <translation>内存上限的 {share}</translation>
        </message>
        <message>
            <location filename="../../app/views/machine/this_mac.py" />
            <source>{tokens} in {time}</source>
            <translation>{time} 处理 {tokens}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Address</source>
            <translation>地址</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Address for plain replies</source>
            <translation>普通回复的地址</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Certificate authority</source>
            <translation>证书颁发机构</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Continuing a stopped reply (not in the server's API)</source>
            <translation>继续已停止的回复（服务器的 API 不支持）</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Counting tokens before a reply (not in the server's API)</source>
            <translation>回复前计算词元数（服务器的 API 不支持）</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Delete Connection?</source>
            <translation>删除连接？</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Delete…</source>
            <translation>删除…</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Edit…</source>
            <translation>编辑…</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Encrypted</source>
            <translation>已加密</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Headers</source>
            <translation>请求头</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>In use</source>
            <translation>使用中</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Key</source>
            <translation>密钥</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Not available</source>
            <translation>不可用</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Not encrypted</source>
            <translation>未加密</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Not reported</source>
            <translation>未报告</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>OpenAI-compatible</source>
            <translation>兼容 OpenAI</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Selected connection</source>
            <translation>所选连接</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Server</source>
            <translation>服务器</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Speculative decoding</source>
            <translation>推测解码</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Speculative decoding (the server doesn't report it)</source>
            <translation>推测解码（服务器未报告）</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Stop connecting</source>
            <translation>停止连接</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>The server's first model</source>
            <translation>服务器的第一个模型</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Thinking (the server doesn't support it)</source>
            <translation>思考（服务器不支持）</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Tools (the server doesn't support tool calls)</source>
            <translation>工具（服务器不支持工具调用）</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Turning off DFlash (add an address for plain replies)</source>
            <translation>关闭 DFlash（请添加普通回复的地址）</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Unknown</source>
            <translation>未知</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Use</source>
            <translation>使用</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>Yes</source>
            <translation>是</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>up to {count} tokens per round</source>
            <translation>每轮最多 {count} 个词元</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>{action}: {name}</source>
            <translation>{action}：{name}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>{model} (1 of {count})</source>
            <translation>{model}（共 {count} 个）</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>{name} is in use</source>
            <translation>{name} 使用中</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_card.py" />
            <source>“{name}” will be deleted along with its key.</source>
            <translation>“{name}”及其密钥将被删除。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>A PEM file, for servers that the system doesn't trust.</source>
            <translation>PEM 文件，用于系统不信任的服务器。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>A server with the same model but no speculative decoding. Also used for comparisons.</source>
            <translation>运行同一模型但不使用推测解码的服务器。也用于比较。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Add Connection</source>
            <translation>添加连接</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Another connection has this name. Enter a different one.</source>
            <translation>另一个连接已使用此名称。请输入其他名称。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Choose a Certificate File</source>
            <translation>选择证书文件</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Choose a certificate file</source>
            <translation>选择证书文件</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Choose…</source>
            <translation>选取…</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Edit Connection</source>
            <translation>编辑连接</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Enter an address.</source>
            <translation>请输入地址。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Hide Advanced</source>
            <translation>隐藏高级选项</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Messages to “{host}” won't be encrypted. Others on the network can read them.</source>
            <translation>发送到“{host}”的消息不会加密。网络中的其他人可以读取。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>No</source>
            <translation>否</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Not needed on this computer</source>
            <translation>在这台电脑上不需要</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>One header per line.</source>
            <translation>每行一个标头。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Only if the server needs one</source>
            <translation>仅在服务器需要时填写</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Optional</source>
            <translation>可选</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Save</source>
            <translation>存储</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Save Anyway</source>
            <translation>仍然存储</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Save Unencrypted Connection?</source>
            <translation>存储未加密的连接？</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Show Advanced</source>
            <translation>显示高级选项</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Shown in the list (optional)</source>
            <translation>显示在列表中（可选）</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>System default</source>
            <translation>系统默认</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Test</source>
            <translation>测试</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Test result</source>
            <translation>测试结果</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Test the connection</source>
            <translation>测试连接</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>The connection works.</source>
            <translation>连接正常。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>The list has the server's models.</source>
            <translation>列表中是服务器的模型。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>The name or the model contains control characters. Remove them.</source>
            <translation>名称或模型包含控制字符。请将其删除。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>The server lists no models.</source>
            <translation>服务器没有列出模型。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Timeout</source>
            <translation>超时</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>To list the server's models, test the connection.</source>
            <translation>要列出服务器的模型，请测试连接。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Turn off Offline</source>
            <translation>关闭“离线”</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Your messages are sent to this server.</source>
            <translation>您的消息会发送到此服务器。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>Your messages are sent to {address}.</source>
            <translation>您的消息将发送到 {address}。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/endpoint_form.py" />
            <source>seconds</source>
            <translation>秒</translation>
        </message>
        <message>
            <location filename="../../app/views/models/macs_dialog.py" />
            <source>Add</source>
            <translation>添加</translation>
        </message>
        <message>
            <location filename="../../app/views/models/macs_dialog.py" />
            <source>Add Another Mac</source>
            <translation>添加另一台 Mac</translation>
        </message>
        <message>
            <location filename="../../app/views/models/macs_dialog.py" />
            <source>Add this Mac</source>
            <translation>添加这台 Mac</translation>
        </message>
        <message>
            <location filename="../../app/views/models/macs_dialog.py" />
            <source>For models that are too large for one Mac. Run “slipstream worker” in Terminal on the other Mac, which then shows a pairing code. Control traffic is encrypted. What MLX exchanges between the Macs isn't, so use a network you trust.</source>
            <translation>用于一台 Mac 装不下的模型。请在另一台 Mac 的终端中运行 “slipstream worker”，它会显示配对码。控制数据是加密的，但 MLX 在 Mac 之间交换的数据未加密，因此请使用您信任的网络。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/macs_dialog.py" />
            <source>Pairing code</source>
            <translation>配对码</translation>
        </message>
        <message>
            <location filename="../../app/views/models/macs_dialog.py" />
            <source>Remove {name}</source>
            <translation>移除 {name}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/macs_dialog.py" />
            <source>The Mac was added.</source>
            <translation>已添加这台 Mac。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/macs_dialog.py" />
            <source>Use for the next load</source>
            <translation>下次载入时使用</translation>
        </message>
        <message>
            <location filename="../../app/views/models/macs_dialog.py" />
            <source>Use {name} for the next load</source>
            <translation>下次载入时使用 {name}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/memory_details.py" />
            <source>Hide Memory Details</source>
            <translation>隐藏内存详情</translation>
        </message>
        <message>
            <location filename="../../app/views/models/memory_details.py" />
            <source>Memory details</source>
            <translation>内存详情</translation>
        </message>
        <message>
            <location filename="../../app/views/models/memory_details.py" />
            <source>Show Memory Details</source>
            <translation>显示内存详情</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_menu.py" />
            <source>All Models…</source>
            <translation>所有模型…</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_menu.py" />
            <source>Auto: {drafter}</source>
            <translation>自动：{drafter}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_menu.py" />
            <source>Connection</source>
            <translation>连接</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_menu.py" />
            <source>Load on this Mac only</source>
            <translation>仅在这台 Mac 上载入</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_menu.py" />
            <source>Load on {count} Macs</source>
            <translation>在 {count} 台 Mac 上载入</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_menu.py" />
            <source>Pin {name}</source>
            <translation>置顶 {name}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_menu.py" />
            <source>Recent models</source>
            <translation>最近使用的模型</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_menu.py" />
            <source>Unpin {name}</source>
            <translation>取消置顶 {name}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Add a Folder with Models</source>
            <translation>添加包含模型的文件夹</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Add a folder with models</source>
            <translation>添加包含模型的文件夹</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Add…</source>
            <translation>添加…</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Applies to all downloads combined.</source>
            <translation>限制所有下载的总速度。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Check the token and save it in the keychain</source>
            <translation>检查令牌并存入钥匙串</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Checking the token…</source>
            <translation>正在检查令牌…</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Download speed</source>
            <translation>下载速度</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Enter a mirror's address, or leave the field empty for huggingface.co.</source>
            <translation>输入镜像地址；留空则使用 huggingface.co。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Hub token</source>
            <translation>Hub 令牌</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Model folder</source>
            <translation>模型文件夹</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Model hub</source>
            <translation>模型 Hub</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Move Models To</source>
            <translation>将模型移至</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Move progress</source>
            <translation>移动进度</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Move the models to another folder</source>
            <translation>把模型移到另一个文件夹</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Move…</source>
            <translation>移动…</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Moving models: {done} of {total}</source>
            <translation>正在移动模型：{done} / {total}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Needed for gated models. It is stored in the keychain and sent only to the hub.</source>
            <translation>用于受限模型。存放在钥匙串中，只发送给 Hub。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Needed for gated models. No keychain is available, so it can't be stored.</source>
            <translation>受限模型需要此令牌。没有可用的钥匙串，因此无法存储。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>No token is stored in the keychain.</source>
            <translation>钥匙串中没有令牌。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Other folders</source>
            <translation>其他文件夹</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Remove the token from the keychain</source>
            <translation>从钥匙串中移除令牌</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Stop moving</source>
            <translation>停止移动</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Stop using this folder and keep its files</source>
            <translation>不再使用此文件夹，并保留其中的文件</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>The folder is set by {variable} and can't be changed here.</source>
            <translation>此文件夹由 {variable} 指定，无法在此更改。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Their models are used in place. LM Studio's are found without being added.</source>
            <translation>其中的模型会在原处使用。LM Studio 的模型无需添加即可找到。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Token removed.</source>
            <translation>令牌已移除。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Token saved for {account}.</source>
            <translation>已存储 {account} 的令牌。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>Unlimited</source>
            <translation>不限</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>You can keep chatting, but you can't download, load, or delete models.</source>
            <translation>您可以继续对话，但不能下载、载入或删除模型。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_settings.py" />
            <source>{size} of disk space available</source>
            <translation>磁盘可用空间 {size}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Can't fetch details. Check your network connection.</source>
            <translation>无法获取详细信息。请检查网络连接。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Cancel loading</source>
            <translation>取消载入</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Cancel the download and delete the partial files</source>
            <translation>取消下载并删除已下载的部分</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Check the hub again</source>
            <translation>再次询问 Hub</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Delete the drafter from disk. The target stays where it is.</source>
            <translation>从磁盘删除草稿模型。目标模型保留在原处。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Delete this pair from disk</source>
            <translation>从磁盘删除此模型对</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Enter Token…</source>
            <translation>输入令牌…</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Enter a hub token</source>
            <translation>输入 Hub 令牌</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Not verified</source>
            <translation>未经验证</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Not verified by Slipstream</source>
            <translation>未经 Slipstream 验证</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>On {count} Macs</source>
            <translation>在 {count} 台 Mac 上</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Pause the download</source>
            <translation>暂停下载</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Progress</source>
            <translation>进度</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Quantization</source>
            <translation>量化</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Remove from List</source>
            <translation>从列表移除</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Remove this pair from the list and keep its files</source>
            <translation>从列表中移除这一对；文件保留</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Resume</source>
            <translation>继续</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Selected pair</source>
            <translation>所选模型对</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>This model is gated: you may have to accept its conditions on the hub first.</source>
            <translation>此模型受限：您可能需要先在 Hub 上接受其条款。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Tune Drafter…</source>
            <translation>调优草稿模型…</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_card.py" />
            <source>Tune the drafter to your messages</source>
            <translation>根据您的消息调优草稿模型</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>12-megapixel image</source>
            <translation>1200 万像素图像</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Can't see images</source>
            <translation>无法查看图像</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Download</source>
            <translation>下载</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Download about {size}</source>
            <translation>下载约 {size}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Download {size}</source>
            <translation>下载 {size}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Downloads</source>
            <translation>下载次数</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Drafter context</source>
            <translation>草稿模型上下文</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Drafter weights</source>
            <translation>草稿模型权重</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Estimated when the hub responds.</source>
            <translation>Hub 响应后给出估计。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Fits, with little memory to spare.</source>
            <translation>可以容纳，但剩余内存不多。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Kind</source>
            <translation>类型</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Language model</source>
            <translation>语言模型</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Leaves memory for long chats and other apps.</source>
            <translation>为长对话和其他 App 留出内存。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>License</source>
            <translation>许可</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Location</source>
            <translation>位置</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Memory use is unknown until the hub responds.</source>
            <translation>Hub 响应前无法得知内存用量。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>None (plain decoding)</source>
            <translation>无（普通解码）</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Nothing to download</source>
            <translation>无需下载</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Of {count} Macs, this one needs the most memory.</source>
            <translation>{count} 台 Mac 中，这一台所需的内存最多。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Other</source>
            <translation>其他</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Predicted once a pair was loaded on {count} Macs.</source>
            <translation>在 {count} 台 Mac 上载入过一次模型对后即可预测。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Published speedups</source>
            <translation>已公布的加速比</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Published tokens per round: 2.7 to 3.8 with thinking, 3.3 to 6.5 without.</source>
            <translation>已发布的每轮词元数：思考时 2.7 至 3.8，不思考时 3.3 至 6.5。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Quick to download and light on memory.</source>
            <translation>下载快，占用内存少。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Recent chats</source>
            <translation>最近的对话</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Recommended for this computer.</source>
            <translation>为这台电脑推荐。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Recurrent state</source>
            <translation>循环状态</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Sees images and pages of PDFs</source>
            <translation>可查看图像和 PDF 页面</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Shown after a few replies.</source>
            <translation>几次回复之后显示。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Speed in chats</source>
            <translation>对话速度</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Speed in code and math</source>
            <translation>代码和数学速度</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Target</source>
            <translation>目标模型</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Target KV cache</source>
            <translation>目标模型 K/V</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Target folder</source>
            <translation>目标模型文件夹</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Target weights</source>
            <translation>目标模型权重</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>The drafter was fine-tuned for Three.js code.</source>
            <translation>该草稿模型针对 Three.js 代码进行了微调。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>The drafter was trained on non-thinking replies.</source>
            <translation>草稿模型是用非思考回复训练的。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>The weights need about {needed} of memory.</source>
            <translation>权重约需 {needed} 内存。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>The weights need about {needed} of the {budget} available to models.</source>
            <translation>权重约需要 {needed}，模型可用内存为 {budget}。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>The weights need about {needed}, more than the {budget} available to models.</source>
            <translation>权重约需 {needed}，超过模型可用的 {budget}。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>This computer</source>
            <translation>这台电脑</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>To see an estimate, choose Help ▸ {page} and measure this computer.</source>
            <translation>要查看估计值，请在“帮助”▸“{page}”中测量这台电脑。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Too slow without a GPU.</source>
            <translation>没有 GPU 会太慢。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Total for one chat</source>
            <translation>单个聊天合计</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Trained for code.</source>
            <translation>为编程而训练。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Trained for token trees, with 4.6 to 9.6× the plain speed on a B200. Slipstream drafts one path.</source>
            <translation>为词元树训练，在 B200 上为普通速度的 4.6 至 9.6 倍。Slipstream 只起草一条路径。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Trained for token trees. Slipstream drafts one path.</source>
            <translation>为词元树训练。Slipstream 只起草一条路径。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Up to {size} more</source>
            <translation>另外最多 {size}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Weights of both models</source>
            <translation>两个模型的权重</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Why this pair</source>
            <translation>推荐理由</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Without DFlash</source>
            <translation>不用 DFlash</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>Workspace</source>
            <translation>工作空间</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>block size {count}</source>
            <translation>块大小 {count}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>drafter: {license}</source>
            <translation>草稿模型：{license}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>{context}. DFlash helps little beyond about {least}.</source>
            <translation>{context}。超过约 {least} 后，DFlash 提升很小。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>{count} in the last month</source>
            <translation>最近一个月 {count} 次</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>{kind} by {maker}</source>
            <translation>{maker} 的 {kind}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>{kind} drafter, with a higher acceptance rate.</source>
            <translation>{kind} 草稿模型，接受率更高。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>{low} to {high}× the plain speed on {machine}</source>
            <translation>{machine} 上为普通解码速度的 {low} 到 {high} 倍</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>{rate}, no gain</source>
            <translation>{rate}，无提升</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>{rate}, no gain to {high}×</source>
            <translation>{rate}，无提升至 {high} 倍</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>{rate}, {gain}×</source>
            <translation>{rate}，{gain} 倍</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>{ratio}× the plain speed on {machine}</source>
            <translation>{machine} 上为普通解码速度的 {ratio} 倍</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>{size} at {tokens}</source>
            <translation>{tokens}时 {size}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>{size} for models</source>
            <translation>可供模型 {size}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_facts.py" />
            <source>{size} free now</source>
            <translation>当前可用 {size}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_list.py" />
            <source>Downloading</source>
            <translation>正在下载</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_list.py" />
            <source>Loading</source>
            <translation>正在载入</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_list.py" />
            <source>Model pairs and connections</source>
            <translation>模型对和连接</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_list.py" />
            <source>On disk</source>
            <translation>在本机</translation>
        </message>
        <message>
            <location filename="../../app/views/models/pair_list.py" />
            <source>Paused</source>
            <translation>已暂停</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Add a pair, a Mac, or a connection</source>
            <translation>添加模型对、Mac 或连接</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>All</source>
            <translation>全部</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Another Mac…</source>
            <translation>另一台 Mac…</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Check</source>
            <translation>检查</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Check compatibility</source>
            <translation>检查兼容性</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Choose a Folder</source>
            <translation>选取文件夹</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Choose the drafter folder</source>
            <translation>选取草稿模型的文件夹</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Choose the target folder</source>
            <translation>选取目标模型的文件夹</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Coding</source>
            <translation>编程</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Connection…</source>
            <translation>连接…</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Custom Pair</source>
            <translation>自定义模型对</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Custom Pair…</source>
            <translation>自定义模型对…</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Delete the removed pairs now</source>
            <translation>立即删除已移除的模型对</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Disk space</source>
            <translation>磁盘空间</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Enter a model's name, or OWNER/NAME. Your search is sent to the hub.</source>
            <translation>输入模型名称或“所有者/名称”。您的搜索内容会发送到 Hub。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Enter two repos or two folders.</source>
            <translation>请输入两个仓库或两个文件夹。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Find</source>
            <translation>查找</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Find a drafter on this computer and on the hub</source>
            <translation>在这台电脑和 Hub 上查找草稿模型</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Fits</source>
            <translation>合适</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Free Up Space Now</source>
            <translation>立即释放空间</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Hub</source>
            <translation>Hub</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Looking for models…</source>
            <translation>正在查找模型…</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Model folder, download speed, and hub</source>
            <translation>模型文件夹、下载速度和 Hub</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Models</source>
            <translation>模型</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>No listed pairs match “{search}”.</source>
            <translation>列表中没有与“{search}”匹配的模型对。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>No models on the hub match “{search}”.</source>
            <translation>Hub 上没有与“{search}”匹配的模型。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>No pairs match this filter.</source>
            <translation>没有符合此筛选条件的模型对。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Offline is on, so the hub can't be searched.</source>
            <translation>“离线”已打开，因此无法搜索 Hub。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Removed</source>
            <translation>已移除</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Restore the most recently removed pair</source>
            <translation>恢复最近移除的模型对</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Search models</source>
            <translation>搜索模型</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Search the Hub</source>
            <translation>搜索 Hub</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Search the hub</source>
            <translation>搜索 Hub</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Search the hub again</source>
            <translation>再次搜索 Hub</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Searching for a drafter…</source>
            <translation>正在查找草稿模型…</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Searching the hub…</source>
            <translation>正在搜索 Hub…</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Settings…</source>
            <translation>设置…</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Show: {filter}</source>
            <translation>显示：{filter}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>Small</source>
            <translation>小型</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>The target and the drafter are compatible.</source>
            <translation>目标模型与草稿模型兼容。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>The target can be any model that mlx-lm supports. The drafter must be trained for that target; leave it empty for plain decoding. Slipstream never runs Python code from a repo.</source>
            <translation>目标模型可以是 mlx-lm 支持的任何模型；草稿模型须为其训练。没有草稿模型时使用普通解码。绝不运行仓库中的 Python 代码。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>This model can be used with plain decoding.</source>
            <translation>此模型可使用普通解码。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>owner/name or a folder</source>
            <translation>所有者/名称，或文件夹</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>owner/name or a folder (optional)</source>
            <translation>所有者/名称，或文件夹（可选）</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>{names} removed. {size} will be freed when you quit.</source>
            <translation>已移除 {names}。退出时将释放 {size}。</translation>
        </message>
        <message>
            <location filename="../../app/views/models/picker_dialog.py" />
            <source>{name} has been downloaded and verified.</source>
            <translation>{name} 已下载并通过校验。</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>1 page</source>
            <translation>1 页</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>1 page has no text and isn't read.</source>
            <translation>1 页没有文本，不会被读取。</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>As Picture</source>
            <translation>作为图片</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>As Text</source>
            <translation>作为文本</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Don't Send</source>
            <translation>不发送</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Don't send the selected pages</source>
            <translation>不发送所选页面</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Enter pages from 1 to {last}.</source>
            <translation>请输入 1 到 {last} 之间的页码。</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Has a table</source>
            <translation>含有表格</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Has figures</source>
            <translation>含有图表</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Has notes or form fields</source>
            <translation>含有批注或表单字段</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>No page fits in the context.</source>
            <translation>没有任何页面能放入上下文。</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>No text</source>
            <translation>无文本</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Not read</source>
            <translation>未读取</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Not sent</source>
            <translation>未发送</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Only the first page fits in the context.</source>
            <translation>只有第一页能放入上下文。</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Only the first {count} pages fit in the context.</source>
            <translation>只有前 {count} 页能放入上下文。</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Page {number}</source>
            <translation>第 {number} 页</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Pages</source>
            <translation>页面</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Picture</source>
            <translation>图片</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Scanned, or hardly any text</source>
            <translation>扫描件或几乎无文本</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Select pages</source>
            <translation>选择页面</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Select pages, such as 1-5, 8</source>
            <translation>选择页面，例如 1-5, 8</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Send Page 1</source>
            <translation>发送第 1 页</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Send Pages 1–{number}</source>
            <translation>发送第 1–{number} 页</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Send the selected pages as pictures</source>
            <translation>将所选页面作为图片发送</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Send the selected pages as text</source>
            <translation>将所选页面作为文本发送</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Show Page</source>
            <translation>显示页面</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Summary</source>
            <translation>摘要</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Text of page {number}</source>
            <translation>第 {number} 页的文本</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>Text only</source>
            <translation>仅文本</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>This model can't see images, so it gets only the text of the pages.</source>
            <translation>此模型无法查看图像，因此只会收到页面的文本。</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>This page has no text.</source>
            <translation>此页没有文本。</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>{count} as pictures</source>
            <translation>{count} 页作为图片</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>{count} not read</source>
            <translation>{count} 页未读取</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>{count} not sent</source>
            <translation>{count} 页不发送</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>{count} pages</source>
            <translation>{count} 页</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/pdf_dialog.py" />
            <source>{count} pages have no text and aren't read.</source>
            <translation>{count} 页没有文本，不会被读取。</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/picture_actions.py" />
            <source>Image</source>
            <translation>图像</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/picture_actions.py" />
            <source>Open</source>
            <translation>打开</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/viewer.py" />
            <source>Actual Size</source>
            <translation>实际大小</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/viewer.py" />
            <source>Fit</source>
            <translation>适合窗口</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/viewer.py" />
            <source>Fit the image into the window</source>
            <translation>使图像适合窗口</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/viewer.py" />
            <source>Loading…</source>
            <translation>正在载入…</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/viewer.py" />
            <source>Next image</source>
            <translation>下一张图像</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/viewer.py" />
            <source>Previous image</source>
            <translation>上一张图像</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/viewer.py" />
            <source>Zoom in</source>
            <translation>放大</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/viewer.py" />
            <source>Zoom out</source>
            <translation>缩小</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/viewer.py" />
            <source>{place} of {count}</source>
            <translation>{place} / {count}</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/viewer.py" />
            <source>“{name}” is missing. It can't be shown.</source>
            <translation>“{name}”缺失，无法显示。</translation>
        </message>
        <message>
            <location filename="../../app/views/quick/quick_window.py" />
            <source>Go on in the main window</source>
            <translation>在主窗口中继续</translation>
        </message>
        <message>
            <location filename="../../app/views/quick/quick_window.py" />
            <source>No models loaded</source>
            <translation>没有载入模型</translation>
        </message>
        <message>
            <location filename="../../app/views/quick/quick_window.py" />
            <source>Open in Slipstream</source>
            <translation>在 Slipstream 中打开</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>API key</source>
            <translation>API 密钥</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Can't start {agent}. Copy the commands and run them yourself.</source>
            <translation>无法启动 {agent}。请拷贝命令并自行运行。</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Choose models</source>
            <translation>选取模型</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Coding agent</source>
            <translation>编程智能体</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Copy Commands</source>
            <translation>拷贝命令</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Copy the API key</source>
            <translation>拷贝 API 密钥</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Copy the address</source>
            <translation>拷贝地址</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Copy the commands that start the coding agent</source>
            <translation>拷贝启动编程智能体的命令</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Copy the example</source>
            <translation>拷贝示例</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Example request</source>
            <translation>请求示例</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Folder for {agent}</source>
            <translation>{agent} 的文件夹</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>For programs that use OpenAI's API. For Anthropic's API, leave out “/v1”.</source>
            <translation>用于使用 OpenAI API 的程序。对于 Anthropic API，请去掉“/v1”。</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Generate</source>
            <translation>生成</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Generate New Key?</source>
            <translation>生成新密钥？</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Generate New Key…</source>
            <translation>生成新密钥…</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Generated when the server starts</source>
            <translation>服务器启动时生成</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Hide</source>
            <translation>隐藏</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Hide the API key</source>
            <translation>隐藏 API 密钥</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Lets coding agents and other programs on this computer use the loaded model.</source>
            <translation>让这台电脑上的编程智能体和其他程序使用已载入的模型。</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Local Server</source>
            <translation>本地服务器</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Messages from these programs are sent to {host}.</source>
            <translation>这些程序的消息会发送到 {host}。</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Models…</source>
            <translation>模型…</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>No active requests</source>
            <translation>没有活动请求</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Position {position} in the queue</source>
            <translation>队列中第 {position} 位</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Programs need this key, which is stored in the keychain.</source>
            <translation>程序需要此密钥，密钥存储在钥匙串中。</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Programs with the current key can't connect until you give them the new one.</source>
            <translation>使用当前密钥的程序将无法连接，直到您为其提供新密钥。</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Reading the prompt: {done} of {total} tokens</source>
            <translation>正在读取提示词：{done}/{total} 个词元</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Request log</source>
            <translation>请求日志</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Requests</source>
            <translation>请求</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Run local server</source>
            <translation>运行本地服务器</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Show the API key</source>
            <translation>显示 API 密钥</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Start the coding agent in a folder</source>
            <translation>在文件夹中启动编程智能体</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Starting…</source>
            <translation>正在启动…</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>Start…</source>
            <translation>启动…</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>The agent uses this server and leaves your own settings unchanged.</source>
            <translation>智能体使用此服务器，您自己的设置保持不变。</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>This computer has no keychain, so the key is valid only until you quit Slipstream.</source>
            <translation>这台电脑没有钥匙串，因此密钥仅在您退出 Slipstream 之前有效。</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>{count} of {total} prompt tokens cached</source>
            <translation>{total} 个提示词词元中有 {count} 个来自缓存</translation>
        </message>
        <message>
            <location filename="../../app/views/server/server_dialog.py" />
            <source>{count} replies, {rate} together</source>
            <translation>{count} 个回复，合计 {rate}</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/chat_files_row.py" />
            <source>1 file</source>
            <translation>1 个文件</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/chat_files_row.py" />
            <source>Images and PDFs</source>
            <translation>图像和 PDF</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/chat_files_row.py" />
            <source>None in your chats</source>
            <translation>聊天中没有</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/chat_files_row.py" />
            <source>They are deleted with their messages and chats.</source>
            <translation>它们会随消息和聊天一起删除。</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/chat_files_row.py" />
            <source>{files} in your chats, {size}</source>
            <translation>聊天中有 {files}，{size}</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>1 connection</source>
            <translation>1 个连接</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>All Purposes</source>
            <translation>所有用途</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>Clear…</source>
            <translation>清除…</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>Connections</source>
            <translation>连接</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>Data</source>
            <translation>数据</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>Delete the List of Connections?</source>
            <translation>删除连接列表？</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>Delete the list of connections</source>
            <translation>删除连接列表</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>Every connection that Slipstream makes, and that programs make to its server. The list stays on this computer.</source>
            <translation>Slipstream 建立的每个连接，以及程序与其服务器建立的每个连接。此列表只留在这台电脑上。</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>Filter by host</source>
            <translation>按主机筛选</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>No connections yet</source>
            <translation>还没有连接</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>No matching connections</source>
            <translation>没有匹配的连接</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>Not listed: connections of your browser and of coding agents.</source>
            <translation>未列出：浏览器和编程智能体的连接。</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>Not listed: connections of your browser, of coding agents, and of these programs: {names}.</source>
            <translation>未列出：浏览器、编程智能体以及以下程序的连接：{names}。</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>Purpose</source>
            <translation>用途</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>The list of connections will be deleted. Connections that are open will be listed again when they end.</source>
            <translation>连接列表将被删除。仍打开的连接会在结束时再次列出。</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>When</source>
            <translation>时间</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>{connections}: {data}</source>
            <translation>{connections}：{data}</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>{count} connections</source>
            <translation>{count} 个连接</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>{host} (proxy)</source>
            <translation>{host}（代理服务器）</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/network_pane.py" />
            <source>{sent} sent, {received} received</source>
            <translation>已发送 {sent}，已接收 {received}</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/saved_prompt_rows.py" />
            <source>Choose Folder…</source>
            <translation>选取文件夹…</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/saved_prompt_rows.py" />
            <source>Choose a Folder for Saved Prompts</source>
            <translation>为已存储的提示词选取文件夹</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/saved_prompt_rows.py" />
            <source>Choose a folder for saved prompts</source>
            <translation>为已存储的提示词选取文件夹</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/saved_prompt_rows.py" />
            <source>Clear Now…</source>
            <translation>立即清除…</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/saved_prompt_rows.py" />
            <source>Delete All Saved Prompts?</source>
            <translation>删除所有已存储的提示词？</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/saved_prompt_rows.py" />
            <source>Delete all saved prompts</source>
            <translation>删除所有已存储的提示词</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/saved_prompt_rows.py" />
            <source>Folder</source>
            <translation>文件夹</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/saved_prompt_rows.py" />
            <source>Nothing saved yet</source>
            <translation>尚未存储任何内容</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/saved_prompt_rows.py" />
            <source>Prompts aren't saved.</source>
            <translation>不存储提示词。</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/saved_prompt_rows.py" />
            <source>Some saved prompts couldn't be deleted. Slipstream will try again at the next launch.</source>
            <translation>部分已存储的提示词无法删除。Slipstream 将在下次启动时重试。</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/saved_prompt_rows.py" />
            <source>Space used</source>
            <translation>已用空间</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/saved_prompt_rows.py" />
            <source>Your chats are kept, but the next reply in each will take longer to start.</source>
            <translation>您的对话会保留，但每个对话的下一条回复会较慢开始。</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/saved_prompt_rows.py" />
            <source>{tokens} tokens were read from disk instead of computed.</source>
            <translation>{tokens} 个词元从磁盘读取，无需计算。</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/saved_prompt_rows.py" />
            <source>{used} of {space} used</source>
            <translation>已使用 {used}，共 {space}</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Advanced</source>
            <translation>高级</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>General</source>
            <translation>通用</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Network</source>
            <translation>网络</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>New Chats</source>
            <translation>新对话</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Panes</source>
            <translation>面板</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Privacy</source>
            <translation>隐私</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Restart</source>
            <translation>重新启动</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Restart Slipstream</source>
            <translation>重新启动 Slipstream</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Settings – {pane}</source>
            <translation>设置 – {pane}</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_list.py" />
            <source>Actions</source>
            <translation>操作</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_list.py" />
            <source>Actions for “{title}”</source>
            <translation>“{title}”的操作</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_list.py" />
            <source>Chats</source>
            <translation>对话</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_list.py" />
            <source>No chats yet</source>
            <translation>还没有对话</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_list.py" />
            <source>Pin Chat</source>
            <translation>置顶对话</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_list.py" />
            <source>Pin “{title}”</source>
            <translation>置顶“{title}”</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_list.py" />
            <source>Unpin “{title}”</source>
            <translation>取消置顶“{title}”</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_list.py" />
            <source>{title}, new reply</source>
            <translation>{title}，有新回复</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_sections.py" />
            <source>Archived</source>
            <translation>已归档</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_sections.py" />
            <source>Pinned</source>
            <translation>已置顶</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_sections.py" />
            <source>Previous 30 Days</source>
            <translation>前 30 天</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_sections.py" />
            <source>Previous 7 Days</source>
            <translation>前 7 天</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_sections.py" />
            <source>Projects</source>
            <translation>项目</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_sections.py" />
            <source>Today</source>
            <translation>今天</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/chat_sections.py" />
            <source>Yesterday</source>
            <translation>昨天</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/search_results.py" />
            <source>1 more message</source>
            <translation>另外 1 条消息</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/search_results.py" />
            <source>Search results</source>
            <translation>搜索结果</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/search_results.py" />
            <source>{count} more messages</source>
            <translation>另外 {count} 条消息</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/sidebar.py" />
            <source>Last change</source>
            <translation>上次更改</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/sidebar.py" />
            <source>New Chat</source>
            <translation>新建对话</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/sidebar.py" />
            <source>No results for “{words}”</source>
            <translation>没有“{words}”的结果</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/sidebar.py" />
            <source>Search</source>
            <translation>搜索</translation>
        </message>
        <message>
            <location filename="../../app/views/sidebar/sidebar.py" />
            <source>Search all chats</source>
            <translation>搜索所有对话</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>1 call</source>
            <translation>1 次调用</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>All Tools</source>
            <translation>所有工具</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>Arguments</source>
            <translation>参数</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>Clear</source>
            <translation>清空</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>Clear the List of Calls?</source>
            <translation>清空调用列表？</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>Clear the list of calls</source>
            <translation>清空调用列表</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>No tool calls</source>
            <translation>没有工具调用</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>Open the chat “{title}”</source>
            <translation>打开对话“{title}”</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>Result · The first {count} characters; the chat has all</source>
            <translation>结果 · 前 {count} 个字符；对话中有全部内容</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>The calls in your chats, with those that you denied. Deleting a chat deletes its calls.</source>
            <translation>您的对话中的调用，包括您拒绝的调用。删除对话会同时删除其中的调用。</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>The list will be empty. The chats keep their calls, and later calls are listed.</source>
            <translation>列表将被清空。对话会保留其中的调用，之后的调用仍会列出。</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>Tool</source>
            <translation>工具</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>Tool Calls</source>
            <translation>工具调用</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>Tool calls</source>
            <translation>工具调用</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>{calls}, of the latest {count}</source>
            <translation>{calls}（最近 {count} 次）</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/call_log_dialog.py" />
            <source>{count} calls</source>
            <translation>{count} 次调用</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>1 tool</source>
            <translation>1 个工具</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Add a folder that models may read.</source>
            <translation>请添加模型可以读取的文件夹。</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Always allowed</source>
            <translation>始终允许</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Calculates an arithmetic expression.</source>
            <translation>计算算术表达式。</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Changed · needs approval again</source>
            <translation>已更改 · 会再次询问</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Connected · {tools}</source>
            <translation>已连接 · {tools}</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Finds files by a text in their names or contents.</source>
            <translation>按名称或内容中的文本查找文件。</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Hide Tools</source>
            <translation>隐藏工具</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Lists a folder.</source>
            <translation>列出文件夹的内容。</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Not connected</source>
            <translation>未连接</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Reads a page of a document.</source>
            <translation>读取文档的一页。</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Reads a text file.</source>
            <translation>读取文本文件。</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Remove Server?</source>
            <translation>移除服务器？</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Remove the folder {folder}</source>
            <translation>移除文件夹 {folder}</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Remove…</source>
            <translation>移除…</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Searches the documents.</source>
            <translation>搜索文档。</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Show Tools</source>
            <translation>显示工具</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Sign In…</source>
            <translation>登录…</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Sign Out</source>
            <translation>退出登录</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Sign-in required</source>
            <translation>需要登录</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>Use {server}</source>
            <translation>使用 {server}</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>{count} tools</source>
            <translation>{count} 个工具</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_card.py" />
            <source>“{server}” will be removed along with its secrets and approvals.</source>
            <translation>“{server}”及其密钥和批准将被移除。</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_form.py" />
            <source>A quotation mark isn't closed.</source>
            <translation>有引号未闭合。</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_form.py" />
            <source>Add Server</source>
            <translation>添加服务器</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_form.py" />
            <source>Add the selected servers</source>
            <translation>添加所选服务器</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_form.py" />
            <source>Another server has this name.</source>
            <translation>已有服务器使用此名称。</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_form.py" />
            <source>Choose the servers to add from {source}. They stay off until you turn them on.</source>
            <translation>选取要从 {source} 添加的服务器。在您打开之前，它们保持关闭。</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_form.py" />
            <source>Command or address</source>
            <translation>命令或地址</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_form.py" />
            <source>Commands run with your permissions. Add only servers that you trust.</source>
            <translation>命令以您的权限运行。请只添加您信任的服务器。</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_form.py" />
            <source>Edit Server</source>
            <translation>编辑服务器</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_form.py" />
            <source>Enter a command or an address.</source>
            <translation>请输入命令或地址。</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_form.py" />
            <source>Enter a name.</source>
            <translation>请输入名称。</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_form.py" />
            <source>Environment</source>
            <translation>环境</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_form.py" />
            <source>Import Servers</source>
            <translation>导入服务器</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_form.py" />
            <source>One variable per line.</source>
            <translation>每行一个变量。</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/server_form.py" />
            <source>Test the server</source>
            <translation>测试服务器</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tool_chips.py" />
            <source>Turn off {name} in this chat</source>
            <translation>在此对话中关闭 {name}</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_button.py" />
            <source>Calls to {server} are sent to {host}.</source>
            <translation>对 {server} 的调用会发送到 {host}。</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_button.py" />
            <source>Messages get the passages of the documents that fit them best.</source>
            <translation>消息会附带文档中最匹配的段落。</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_button.py" />
            <source>The model on {host} can't call tools.</source>
            <translation>{host} 上的模型无法调用工具。</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_button.py" />
            <source>This model can't call tools.</source>
            <translation>此模型无法调用工具。</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_button.py" />
            <source>Tool Settings…</source>
            <translation>工具设置…</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_button.py" />
            <source>Tool descriptions use {tokens}.</source>
            <translation>工具描述占用 {tokens}。</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_button.py" />
            <source>Tools in this chat: {servers}</source>
            <translation>此聊天中的工具：{servers}</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_button.py" />
            <source>{count} of {total} tools</source>
            <translation>{count}/{total} 个工具</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_pane.py" />
            <source>Add Server…</source>
            <translation>添加服务器…</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_pane.py" />
            <source>Choose File…</source>
            <translation>选取文件…</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_pane.py" />
            <source>Clipboard</source>
            <translation>剪贴板</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_pane.py" />
            <source>Import servers from another app</source>
            <translation>从其他应用导入服务器</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_pane.py" />
            <source>Import…</source>
            <translation>导入…</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_pane.py" />
            <source>Paste from Clipboard</source>
            <translation>从剪贴板粘贴</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_pane.py" />
            <source>Show Calls…</source>
            <translation>显示调用…</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_pane.py" />
            <source>Show mcp.json</source>
            <translation>显示 mcp.json</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_pane.py" />
            <source>Show the folder that contains mcp.json</source>
            <translation>显示 mcp.json 所在的文件夹</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_pane.py" />
            <source>Show the tool calls in all chats</source>
            <translation>显示所有对话中的工具调用</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_pane.py" />
            <source>With tools, models can calculate, read files, and use other programs. You approve each call.</source>
            <translation>借助工具，模型可以计算、读取文件和使用其他程序。每次调用都需要您批准。</translation>
        </message>
        <message>
            <location filename="../../app/views/tools/tools_pane.py" />
            <source>{source} has no new servers.</source>
            <translation>{source} 中没有新的服务器。</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/attachment_chips.py" />
            <source>Attached: {name}. Show pages</source>
            <translation>已附加：{name}。显示页面</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/attachment_chips.py" />
            <source>Attached: {name}. Show text</source>
            <translation>已附加：{name}。显示其文本</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/attachment_chips.py" />
            <source>Cancel reading</source>
            <translation>不附加</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/attachment_chips.py" />
            <source>Move Left</source>
            <translation>左移</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/attachment_chips.py" />
            <source>Move Right</source>
            <translation>右移</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/attachment_chips.py" />
            <source>Reading {name}…</source>
            <translation>正在读取 {name}…</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/attachment_chips.py" />
            <source>Show the pages of {name}</source>
            <translation>显示 {name} 的页面</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/attachment_chips.py" />
            <source>Show the text of {name}</source>
            <translation>显示 {name} 的文本</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/attachment_chips.py" />
            <source>Show {name}</source>
            <translation>显示 {name}</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/attachment_chips.py" />
            <source>Text of {name}</source>
            <translation>{name} 的文本</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/attachment_chips.py" />
            <source>This text is sent to the model with the message.</source>
            <translation>此文本会随消息发送给模型。</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/attachment_chips.py" />
            <source>page {page} of {count}</source>
            <translation>第 {page} 页，共 {count} 页</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/attachment_chips.py" />
            <source>pages {first}–{last} of {count}</source>
            <translation>第 {first}–{last} 页，共 {count} 页</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/attachment_chips.py" />
            <source>{sent} of {count} pages</source>
            <translation>{count} 页中的 {sent} 页</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Allow Once</source>
            <translation>允许一次</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Allow in This Chat</source>
            <translation>在此对话中允许</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Allow “{tool}” once</source>
            <translation>允许“{tool}”一次</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Always Allow</source>
            <translation>始终允许</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Cancel the call to “{tool}”</source>
            <translation>取消调用“{tool}”</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Copy call</source>
            <translation>拷贝调用</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Denied</source>
            <translation>已拒绝</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Deny</source>
            <translation>拒绝</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Deny the call to “{tool}”</source>
            <translation>拒绝调用“{tool}”</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Done in {seconds}</source>
            <translation>完成，用时 {seconds}</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Hide call to “{tool}”</source>
            <translation>隐藏“{tool}”的调用</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>More</source>
            <translation>更多</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>More ways to allow “{tool}”</source>
            <translation>允许“{tool}”的其他方式</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Needs approval</source>
            <translation>需要批准</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Result · The model received only the first {count} characters</source>
            <translation>结果 · 模型收到了前 {count} 个字符</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Running…</source>
            <translation>正在运行…</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Show call to “{tool}”</source>
            <translation>显示“{tool}”的调用</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Status</source>
            <translation>状态</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>This tool has changed since you allowed it.</source>
            <translation>此工具自您允许后已更改。</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Tool call: {tool}, {status}</source>
            <translation>工具调用：{tool}，{status}</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/call_card.py" />
            <source>Unknown tool</source>
            <translation>未知工具</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/cut_view.py" />
            <source>Discard the changes</source>
            <translation>放弃更改</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/cut_view.py" />
            <source>Edit</source>
            <translation>编辑</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/cut_view.py" />
            <source>Edit the summary</source>
            <translation>编辑摘要</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/cut_view.py" />
            <source>Hide summary</source>
            <translation>隐藏摘要</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/cut_view.py" />
            <source>Save the summary</source>
            <translation>存储摘要</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/cut_view.py" />
            <source>Show summary</source>
            <translation>显示摘要</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/cut_view.py" />
            <source>The context is full, so the model reads nothing above this line.</source>
            <translation>上下文已满，因此模型不读取此线以上的任何内容。</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/cut_view.py" />
            <source>The model reads a summary of what is above this line.</source>
            <translation>模型读取此线以上内容的摘要。</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/find_bar.py" />
            <source>Close search</source>
            <translation>关闭查找</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/find_bar.py" />
            <source>Find in this chat</source>
            <translation>在此对话中查找</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/find_bar.py" />
            <source>Matches</source>
            <translation>匹配项</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/find_bar.py" />
            <source>Next match</source>
            <translation>下一个匹配项</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/find_bar.py" />
            <source>No matches</source>
            <translation>无匹配</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/find_bar.py" />
            <source>Previous match</source>
            <translation>上一个匹配项</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_focus.py" />
            <source>Copy</source>
            <translation>拷贝</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_view.py" />
            <source>The Left and Right keys move to its buttons</source>
            <translation>使用左右方向键移到消息的按钮</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_views.py" />
            <source>Choose a Model…</source>
            <translation>选取模型…</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_views.py" />
            <source>Choose a model</source>
            <translation>选取模型</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_views.py" />
            <source>Copy Message</source>
            <translation>拷贝消息</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_views.py" />
            <source>Edit (keeps this version)</source>
            <translation>编辑（保留此版本）</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_views.py" />
            <source>Edit Message</source>
            <translation>编辑消息</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_views.py" />
            <source>Hide thinking</source>
            <translation>隐藏思考</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_views.py" />
            <source>Reply</source>
            <translation>回复</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_views.py" />
            <source>Show All</source>
            <translation>显示全部</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_views.py" />
            <source>Show the full message</source>
            <translation>显示整条消息</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_views.py" />
            <source>Show thinking</source>
            <translation>显示思考</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_views.py" />
            <source>Turn On Calculator</source>
            <translation>打开计算器</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_views.py" />
            <source>Turn on the calculator in this chat, and ask again</source>
            <translation>在此对话中打开计算器，然后重新提问</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_views.py" />
            <source>Waiting for the first token</source>
            <translation>正在等待首个词元</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/message_views.py" />
            <source>Your message</source>
            <translation>您的消息</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/read_pages.py" />
            <source>Read:</source>
            <translation>已读取：</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Answer this prompt with and without DFlash, side by side</source>
            <translation>使用和不使用 DFlash 回答此提示词，并排显示</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Continue this reply</source>
            <translation>继续此回复</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Copy Reply</source>
            <translation>拷贝回复</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Copy reply</source>
            <translation>拷贝回复</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Details</source>
            <translation>详细信息</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Details: how this reply was decoded</source>
            <translation>详细信息：此回复的解码方式</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Next version</source>
            <translation>下一个版本</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Previous version</source>
            <translation>上一个版本</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Read Aloud</source>
            <translation>朗读</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Read aloud</source>
            <translation>朗读</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Regenerate</source>
            <translation>重新生成</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Regenerate (keeps this reply)</source>
            <translation>重新生成（保留此回复）</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Stop Reading Aloud</source>
            <translation>停止朗读</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Stop reading aloud</source>
            <translation>停止朗读</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>This server can't continue a reply.</source>
            <translation>此服务器无法继续回复。</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_actions.py" />
            <source>Version {place} of {count}</source>
            <translation>版本 {place} / {count}</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_charts.py" />
            <source>Drafted (max {highest})</source>
            <translation>已起草（最多 {highest}）</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_charts.py" />
            <source>Drafted and accepted tokens per round</source>
            <translation>每轮起草和接受的词元</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_charts.py" />
            <source>Slower for a known reason</source>
            <translation>因已知原因变慢</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_charts.py" />
            <source>Speed (max {rate})</source>
            <translation>速度（最高 {rate}）</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_charts.py" />
            <source>Speed of the replies in this chat</source>
            <translation>此对话中各回复的速度</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_charts.py" />
            <source>{count} processed</source>
            <translation>已处理 {count}</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_charts.py" />
            <source>{count} processed at {rate}</source>
            <translation>已处理 {count}，速度 {rate}</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_charts.py" />
            <source>{count} reused</source>
            <translation>复用 {count}</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/reply_charts.py" />
            <source>{rounds} rounds; {least} to {most} accepted</source>
            <translation>{rounds} 轮；接受 {least} 至 {most} 个</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/selection.py" />
            <source>Copy Link</source>
            <translation>拷贝链接</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/selection.py" />
            <source>Link</source>
            <translation>链接</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/stats_line.py" />
            <source>Details of this reply</source>
            <translation>此回复的详情</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/stats_line.py" />
            <source>Probabilities of the first {count} tokens, kept until you open another chat</source>
            <translation>前 {count} 个词元的概率，保留到您打开其他对话</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/stats_line.py" />
            <source>Reused and processed prompt tokens</source>
            <translation>复用和处理的提示词词元</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/stats_line.py" />
            <source>Token probabilities, kept until you open another chat</source>
            <translation>词元概率，保留到您打开其他对话</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/stats_line.py" />
            <source>Why this reply was slow</source>
            <translation>此回复变慢的原因</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/token_probabilities.py" />
            <source>Point at a token, or move the cursor to it.</source>
            <translation>指向一个词元，或将光标移到它上面。</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/token_probabilities.py" />
            <source>Probability of the token</source>
            <translation>词元的概率</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/token_probabilities.py" />
            <source>Tokens of the reply</source>
            <translation>回复的词元</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/token_probabilities.py" />
            <source>line break</source>
            <translation>换行</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/token_probabilities.py" />
            <source>no text</source>
            <translation>无文本</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/token_probabilities.py" />
            <source>space</source>
            <translation>空格</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/token_probabilities.py" />
            <source>tab</source>
            <translation>制表符</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/token_probabilities.py" />
            <source>{token} · Others: {others}</source>
            <translation>{token} · 其他：{others}</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/token_probabilities.py" />
            <source>“{token}” {share}</source>
            <translation>“{token}” {share}</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/transcript.py" />
            <source>Chat</source>
            <translation>对话</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/transcript.py" />
            <source>Go to the end</source>
            <translation>前往末尾</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/transcript.py" />
            <source>New Text ↓</source>
            <translation>新内容 ↓</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/unreadable_call.py" />
            <source>Hide text</source>
            <translation>隐藏文本</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/unreadable_call.py" />
            <source>Show text</source>
            <translation>显示文本</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/unreadable_call.py" />
            <source>The model wrote a tool call that can't be read</source>
            <translation>模型写出了无法读取的工具调用</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>, {bits}-bit</source>
            <translation>，{bits} 位</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Ask anything</source>
            <translation>尽管问</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Ask anything, faster</source>
            <translation>尽管问，更快答</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Ask: {prompt}</source>
            <translation>提问：{prompt}</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Compare shows both speeds side by side.</source>
            <translation>“比较”会并排显示两种速度。</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Connected to {host}</source>
            <translation>已连接到 {host}</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>DFlash runs a pair of models: a small one drafts, a large one checks. Same text, faster.</source>
            <translation>DFlash 运行一对模型：小模型起草，大模型检查。文本相同，速度更快。</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Everything you write stays on this computer.</source>
            <translation>您写的所有内容都留在这台电脑上。</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Explanation</source>
            <translation>解释</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Get a Real Model…</source>
            <translation>获取真正的模型…</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>How many divisors does 84 have?</source>
            <translation>84 有多少个约数？</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>List</source>
            <translation>列表</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>List the first 8 square numbers.</source>
            <translation>列出前 8 个平方数。</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Math</source>
            <translation>数学</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Ready (no drafter)</source>
            <translation>就绪，无草稿模型</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Recommended for this computer</source>
            <translation>为这台电脑推荐</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>The demo model understands only English.</source>
            <translation>演示模型只懂英语。</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>The demo pair answers only a few kinds of questions.</source>
            <translation>演示模型对只能回答少数几类问题。</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Tool calls are sent to {hosts}.</source>
            <translation>工具调用会发送到 {hosts}。</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Tool calls are sent to {hosts}. Everything else stays on this computer.</source>
            <translation>工具调用会发送到 {hosts}。其他内容都留在这台电脑上。</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Try the built-in demo</source>
            <translation>试试内置演示</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Up to {rate} tok/s without DFlash</source>
            <translation>不使用 DFlash 时最高 {rate} 词元/秒</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>What is 4817 × 392?</source>
            <translation>4817 × 392 等于多少？</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>What is speculative decoding?</source>
            <translation>什么是推测解码？</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Write a Python function that checks if a number is prime.</source>
            <translation>写一个 Python 函数，判断一个数是否为质数。</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>Write the 7 times table up to 10.</source>
            <translation>写出 7 的乘法表，直到乘以 10。</translation>
        </message>
        <message>
            <location filename="../../app/views/transcript/welcome.py" />
            <source>{low} to {high}× as fast with DFlash on {machine}</source>
            <translation>在 {machine} 上使用 DFlash 快至 {low} 到 {high} 倍</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>About {needed}, for a second copy of the pair ({free} free)</source>
            <translation>约 {needed}，用于模型对的第二份副本（{free} 可用）</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>About {time} left for this part</source>
            <translation>此阶段还剩约 {time}</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>After</source>
            <translation>之后</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Before</source>
            <translation>之前</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Change</source>
            <translation>变化</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Discard</source>
            <translation>放弃</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Discard This Run?</source>
            <translation>要放弃这次调优吗？</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Discard…</source>
            <translation>放弃…</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>End and delete this run</source>
            <translation>结束并删除这次调优</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>General prompts</source>
            <translation>通用提示词</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Learn more about tuning</source>
            <translation>了解有关调优的更多信息</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Messages</source>
            <translation>消息</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Not kept, because tokens per round didn't rise for your messages. The drafter is unchanged.</source>
            <translation>未保留，因为您的消息的每轮词元数没有提高。草稿模型未更改。</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Not kept, because tokens per round fell by more than 1% on general prompts. The drafter is unchanged.</source>
            <translation>未保留，因为通用提示词的每轮词元数下降超过 1%。草稿模型未更改。</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Pause tuning</source>
            <translation>暂停调优</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Paused at {share}. Nothing is lost.</source>
            <translation>已在 {share} 处暂停。进度不会丢失。</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Pausing…</source>
            <translation>正在暂停…</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Reload</source>
            <translation>重新载入</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Reload the pair</source>
            <translation>重新载入模型对</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Reload the pair to use the tuned drafter.</source>
            <translation>重新载入模型对以使用调优后的草稿模型。</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Remove the Tuned Drafter?</source>
            <translation>要移除调优后的草稿模型吗？</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Remove the tuned drafter</source>
            <translation>移除调优后的草稿模型</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Shown after the first steps</source>
            <translation>在最初几步之后显示</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>The drafter will be used as it was published. You can tune it again at any time.</source>
            <translation>将使用公布时的草稿模型。您可以随时重新调优。</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>The pair will be reloaded when the reply ends.</source>
            <translation>回复结束后将重新载入模型对。</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>The tuned drafter was removed. Reload the pair to stop using it.</source>
            <translation>调优后的草稿模型已移除。请重新载入模型对以停止使用。</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Time</source>
            <translation>时间</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Tokens per round</source>
            <translation>每轮词元数</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Tune Again</source>
            <translation>重新调优</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Tune Drafter</source>
            <translation>调优草稿模型</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Tuned on {date}. The tuned drafter is in use.</source>
            <translation>调优日期：{date}。正在使用调优后的草稿模型。</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Tuning adapts the drafter to this model and to your messages. The text of replies never changes, only their speed. It runs in the background with low priority. Replies are slower while it runs.</source>
            <translation>调优使草稿模型适应此模型和您的消息。回复的文本绝不会改变，改变的只是速度。调优在后台以低优先级运行，期间回复会较慢。</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Tuning has ended.</source>
            <translation>调优已结束。</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Tuning progress</source>
            <translation>调优进度</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Up to {needed}, until tuning ends ({free} free)</source>
            <translation>最多 {needed}，直到调优结束（{free} 可用）</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>What was generated and learned so far will be deleted. To continue later, choose Pause instead.</source>
            <translation>到目前为止生成和学习的内容将被删除。要稍后继续，请改为选取“暂停”。</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>Your messages</source>
            <translation>您的消息</translation>
        </message>
        <message>
            <location filename="../../app/views/tuning/tune_dialog.py" />
            <source>{count} from {chats}, and {general} general ones. Private chats are left out.</source>
            <translation>{count} 条来自 {chats}，另有 {general} 条通用消息。不包括私密对话。</translation>
        </message>
        <message>
            <location filename="../../app/widgets/browser.py" />
            <source>Can't open a browser. Set a default browser in the system's settings, or copy the link.</source>
            <translation>无法打开浏览器。请在系统设置中设置默认浏览器，或拷贝链接。</translation>
        </message>
        <message>
            <location filename="../../app/widgets/comparison_table.py" />
            <source>Fastest</source>
            <translation>最快</translation>
        </message>
        <message>
            <location filename="../../app/widgets/comparison_table.py" />
            <source>{mode} speed</source>
            <translation>{mode} 速度</translation>
        </message>
        <message>
            <location filename="../../app/widgets/controls.py" />
            <source>Copied</source>
            <translation>已拷贝</translation>
        </message>
        <message>
            <location filename="../../app/widgets/pairs_field.py" />
            <source>“{line}” needs a name, “{mark}”, and a value.</source>
            <translation>“{line}”需要名称、“{mark}”和值。</translation>
        </message>
        <message>
            <location filename="../../app/widgets/picture_loader.py" />
            <source>Can't show “{name}”.</source>
            <translation>无法显示“{name}”。</translation>
        </message>
        <message>
            <location filename="../../app/widgets/picture_loader.py" />
            <source>Image: {name}</source>
            <translation>图像：{name}</translation>
        </message>
        <message>
            <location filename="../../app/widgets/picture_loader.py" />
            <source>Missing</source>
            <translation>缺失</translation>
        </message>
        <message>
            <location filename="../../app/widgets/picture_loader.py" />
            <source>Page {number} of {name}</source>
            <translation>{name} 的第 {number} 页</translation>
        </message>
        <message>
            <location filename="../../app/widgets/picture_loader.py" />
            <source>first frame only</source>
            <translation>仅第一帧</translation>
        </message>
        <message>
            <location filename="../../app/widgets/picture_tile.py" />
            <source>“{name}” is missing</source>
            <translation>“{name}”缺失</translation>
        </message>
        <message>
            <location filename="../../app/widgets/save_dialog.py" />
            <source>Replace</source>
            <translation>替换</translation>
        </message>
        <message>
            <location filename="../../app/widgets/save_dialog.py" />
            <source>Replace File?</source>
            <translation>替换文件？</translation>
        </message>
        <message>
            <location filename="../../app/widgets/save_dialog.py" />
            <source>“{name}” already exists. Do you want to replace it?</source>
            <translation>“{name}”已存在。要替换它吗？</translation>
        </message>
        <message>
            <location filename="../../app/widgets/secret_texts.py" />
            <source>Kept only until you quit, because no keychain is available.</source>
            <translation>没有可用的钥匙串，仅保留到退出为止。</translation>
        </message>
        <message>
            <location filename="../../app/widgets/secret_texts.py" />
            <source>Secrets are kept only until you quit, because no keychain is available.</source>
            <translation>没有可用的钥匙串，密钥信息仅保留到退出为止。</translation>
        </message>
        <message>
            <location filename="../../app/widgets/secret_texts.py" />
            <source>Secrets are stored in the keychain.</source>
            <translation>密钥信息存储在钥匙串中。</translation>
        </message>
        <message>
            <location filename="../../app/widgets/secret_texts.py" />
            <source>Stored in the keychain.</source>
            <translation>存储在钥匙串中。</translation>
        </message>
        <message>
            <location filename="../../app/widgets/send_button.py" />
            <source>Stop (Esc)</source>
            <translation>停止 (Esc)</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>&amp;Attach Files…</source>
            <translation>附加文件(&amp;A)…</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>&amp;Export Chat…</source>
            <translation>导出对话(&amp;E)…</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>&amp;Export {count} Chats…</source>
            <translation>导出 {count} 个对话(&amp;E)…</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>&amp;Import Chats…</source>
            <translation>导入对话(&amp;I)…</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>&amp;Print…</source>
            <translation>打印(&amp;P)…</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>All {count} chats will be deleted, including the archived ones ({archived}).</source>
            <translation>将删除全部 {count} 个对话，包括已归档的对话（{archived} 个）。</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>All {count} chats will be deleted.</source>
            <translation>将删除全部 {count} 个对话。</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Attach Files</source>
            <translation>附加文件</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Chats (*.json *.jsonl *.zip *.db);;All files (*)</source>
            <translation>对话 (*.json *.jsonl *.zip *.db);;所有文件 (*)</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Delete A&amp;ll Chats…</source>
            <translation>删除所有对话(&amp;L)…</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Delete All</source>
            <translation>全部删除</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Delete All Chats?</source>
            <translation>要删除所有对话吗？</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Export A&amp;ll Chats…</source>
            <translation>导出所有对话(&amp;L)…</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Export All Chats</source>
            <translation>导出所有对话</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Export Chat</source>
            <translation>导出对话</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Export Chats</source>
            <translation>导出对话</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Export Pro&amp;ject…</source>
            <translation>导出项目(&amp;J)…</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Export Project</source>
            <translation>导出项目</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Images ({patterns})</source>
            <translation>图像 ({patterns})</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Images, PDF, text, and code (*)</source>
            <translation>图像、PDF、文本和代码 (*)</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Import Chats</source>
            <translation>导入对话</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Import Chats from Folde&amp;r…</source>
            <translation>从文件夹导入对话(&amp;R)…</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>JSON for later import (*.json)</source>
            <translation>JSON，可再次导入 (*.json)</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>JSON, with all versions (*.json)</source>
            <translation>JSON，含所有分支 (*.json)</translation>
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
            <translation>打印</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Project</source>
            <translation>项目</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Projects are kept.</source>
            <translation>项目会保留。</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>Slipstream chats</source>
            <translation>Slipstream 对话</translation>
        </message>
        <message>
            <location filename="../../app/window/chat_files.py" />
            <source>You can undo this until you quit Slipstream.</source>
            <translation>退出 Slipstream 之前可以撤销。</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>A small model drafts tokens, and the large one checks them. The output is exactly the large model's.</source>
            <translation>小模型起草词元，大模型进行检查。输出与大模型完全一致。</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>About Slipstream</source>
            <translation>关于 Slipstream</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>All settings</source>
            <translation>所有设置</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>All settings will return to their defaults. Chats, presets, models, connections, tool servers, and the hub token are kept.</source>
            <translation>所有设置都会恢复为默认值。对话、预设、模型、连接、工具服务器和 Hub 令牌会保留。</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Can't open the log folder “{folder}”.</source>
            <translation>无法打开日志文件夹“{folder}”。</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Chats, presets, models, connections, tool servers, and the hub token are kept.</source>
            <translation>对话、预设、模型、连接、工具服务器和 Hub 令牌会保留。</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Collects version and system information without sending it.</source>
            <translation>收集版本和系统信息，但不会发送。</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Development build</source>
            <translation>开发版本</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Learn more about privacy</source>
            <translation>了解有关隐私的更多信息</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Licenses</source>
            <translation>许可证</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Logs</source>
            <translation>日志</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Logs don't contain messages from your chats.</source>
            <translation>日志不包含对话中的消息。</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Report a Problem…</source>
            <translation>报告问题…</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Reset All Settings?</source>
            <translation>要重置所有设置吗？</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Reset all settings</source>
            <translation>重置所有设置</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Reset…</source>
            <translation>重置…</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Show Logs</source>
            <translation>显示日志</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Slipstream is now version {version}.</source>
            <translation>Slipstream 现在是 {version} 版。</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Support</source>
            <translation>支持</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>This page isn't among the documents any more.</source>
            <translation>此页面已不在文档中。</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Tuning {name} has ended, and its drafter is unchanged.</source>
            <translation>{name} 的调优已结束，其草稿模型未更改。</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Tuning {name} is paused at {share}. To continue, choose File ▸ Tune Drafter.</source>
            <translation>{name} 的调优已在 {share} 处暂停。要继续，请选取“文件”&gt;“调优草稿模型”。</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Tuning {name} stopped: {reason}</source>
            <translation>{name} 的调优已停止：{reason}</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Used for new chats.</source>
            <translation>用于新对话。</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Version {version}</source>
            <translation>版本 {version}</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>What's New</source>
            <translation>新增内容</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>Your chats stay on this computer unless you connect to a server. Slipstream uses the network only to find and download models, to connect to servers and tools that you choose, and to check for updates if you turn that on.</source>
            <translation>除非您连接到服务器，否则您的聊天留在这台电脑上。Slipstream 仅在以下情况使用网络：查找和下载模型、连接到您选择的服务器和工具，以及（如果您打开此功能）检查更新。</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>{name} has been downloaded. Choose File ▸ Models to use it.</source>
            <translation>{name} 已下载。选取“文件”&gt;“模型”来使用。</translation>
        </message>
        <message>
            <location filename="../../app/window/dialogs.py" />
            <source>{name} has been tuned. Choose File ▸ Tune Drafter to see the result.</source>
            <translation>{name} 已调优。选取“文件”&gt;“调优草稿模型”来查看结果。</translation>
        </message>
        <message>
            <location filename="../../app/window/help.py" />
            <source>Fit into the window, or actual size</source>
            <translation>适合窗口或实际大小</translation>
        </message>
        <message>
            <location filename="../../app/window/help.py" />
            <source>For developers</source>
            <translation>面向开发者</translation>
        </message>
        <message>
            <location filename="../../app/window/help.py" />
            <source>Keyboard Shortcuts</source>
            <translation>键盘快捷键</translation>
        </message>
        <message>
            <location filename="../../app/window/help.py" />
            <source>Move an attachment to the left or right</source>
            <translation>向左或向右移动附件</translation>
        </message>
        <message>
            <location filename="../../app/window/help.py" />
            <source>Page</source>
            <translation>页面</translation>
        </message>
        <message>
            <location filename="../../app/window/help.py" />
            <source>Previous or next image</source>
            <translation>上一张或下一张图像</translation>
        </message>
        <message>
            <location filename="../../app/window/help.py" />
            <source>Remove an attachment</source>
            <translation>移除附件</translation>
        </message>
        <message>
            <location filename="../../app/window/help.py" />
            <source>Search help</source>
            <translation>搜索帮助</translation>
        </message>
        <message>
            <location filename="../../app/window/help.py" />
            <source>Slipstream Help</source>
            <translation>Slipstream 帮助</translation>
        </message>
        <message>
            <location filename="../../app/window/help.py" />
            <source>Zoom in or out</source>
            <translation>放大或缩小</translation>
        </message>
        <message>
            <location filename="../../app/window/main_window.py" />
            <source>&amp;Appearance</source>
            <translation>外观(&amp;A)</translation>
        </message>
        <message>
            <location filename="../../app/window/main_window.py" />
            <source>&amp;Contrast</source>
            <translation>对比度(&amp;C)</translation>
        </message>
        <message>
            <location filename="../../app/window/main_window.py" />
            <source>1 program is using the server.</source>
            <translation>1 个程序正在使用服务器。</translation>
        </message>
        <message>
            <location filename="../../app/window/main_window.py" />
            <source>If you quit now, all replies will stop.</source>
            <translation>如果现在退出，所有回复都将被中断。</translation>
        </message>
        <message>
            <location filename="../../app/window/main_window.py" />
            <source>If you quit now, the latest changes of settings will be lost.</source>
            <translation>如果现在退出，最近更改的设置将丢失。</translation>
        </message>
        <message>
            <location filename="../../app/window/main_window.py" />
            <source>Quit Anyway</source>
            <translation>仍然退出</translation>
        </message>
        <message>
            <location filename="../../app/window/main_window.py" />
            <source>Quit Slipstream?</source>
            <translation>退出 Slipstream？</translation>
        </message>
        <message>
            <location filename="../../app/window/main_window.py" />
            <source>Quit Without Saving?</source>
            <translation>要退出而不存储吗？</translation>
        </message>
        <message>
            <location filename="../../app/window/main_window.py" />
            <source>Show Slipstream</source>
            <translation>显示 Slipstream</translation>
        </message>
        <message>
            <location filename="../../app/window/main_window.py" />
            <source>The message for a new chat can't be saved. If you quit now, it will be lost.</source>
            <translation>无法存储新对话的消息。如果现在退出，该消息将会丢失。</translation>
        </message>
        <message>
            <location filename="../../app/window/main_window.py" />
            <source>{count} chats can't be saved. If you quit now, their latest changes will be lost.</source>
            <translation>无法存储 {count} 个对话。如果现在退出，其最新更改将会丢失。</translation>
        </message>
        <message>
            <location filename="../../app/window/main_window.py" />
            <source>{count} programs are using the server.</source>
            <translation>{count} 个程序正在使用服务器。</translation>
        </message>
        <message>
            <location filename="../../app/window/main_window.py" />
            <source>“{title}” can't be saved. If you quit now, its latest changes will be lost.</source>
            <translation>无法存储“{title}”。如果现在退出，其最新更改将会丢失。</translation>
        </message>
        <message>
            <location filename="../../app/window/menus.py" />
            <source>&amp;Chat</source>
            <translation>对话(&amp;C)</translation>
        </message>
        <message>
            <location filename="../../app/window/menus.py" />
            <source>&amp;Edit</source>
            <translation>编辑(&amp;E)</translation>
        </message>
        <message>
            <location filename="../../app/window/menus.py" />
            <source>&amp;File</source>
            <translation>文件(&amp;F)</translation>
        </message>
        <message>
            <location filename="../../app/window/menus.py" />
            <source>&amp;Help</source>
            <translation>帮助(&amp;H)</translation>
        </message>
        <message>
            <location filename="../../app/window/menus.py" />
            <source>&amp;View</source>
            <translation>显示(&amp;V)</translation>
        </message>
        <message>
            <location filename="../../app/window/menus.py" />
            <source>&amp;Window</source>
            <translation>窗口(&amp;W)</translation>
        </message>
        <message>
            <location filename="../../app/window/outside_text.py" />
            <source>The chat of this link isn't here. It was deleted, or it is on another computer.</source>
            <translation>此链接的对话不在这里。它已被删除，或位于其他电脑上。</translation>
        </message>
        <message>
            <location filename="../../app/window/outside_text.py" />
            <source>This text comes from another app. Read it before you send it.</source>
            <translation>这段文本来自其他应用。请在发送前先阅读。</translation>
        </message>
        <message>
            <location filename="../../app/window/palette.py" />
            <source>Command Palette</source>
            <translation>命令面板</translation>
        </message>
        <message>
            <location filename="../../app/window/palette.py" />
            <source>Command palette</source>
            <translation>命令面板</translation>
        </message>
        <message>
            <location filename="../../app/window/palette.py" />
            <source>Commands</source>
            <translation>命令</translation>
        </message>
        <message>
            <location filename="../../app/window/palette.py" />
            <source>Search commands, chats, and presets</source>
            <translation>搜索命令、对话和预设</translation>
        </message>
        <message>
            <location filename="../../app/window/quick_entry.py" />
            <source>Can't use {shortcut} as a shortcut. Choose another one in Settings.</source>
            <translation>无法将 {shortcut} 用作快捷键。请在设置中选择其他快捷键。</translation>
        </message>
        <message>
            <location filename="../../app/window/quick_entry.py" />
            <source>Quic&amp;k Chat</source>
            <translation>快速对话(&amp;K)</translation>
        </message>
        <message>
            <location filename="../../app/window/reading_aloud.py" />
            <source>Read Last Reply Al&amp;oud</source>
            <translation>朗读上一条回复(&amp;O)</translation>
        </message>
        <message>
            <location filename="../../app/window/reading_aloud.py" />
            <source>Stop Readin&amp;g Aloud</source>
            <translation>停止朗读(&amp;G)</translation>
        </message>
        <message>
            <location filename="../../app/window/report.py" />
            <source>Can't save the report: {reason}. Choose another location.</source>
            <translation>无法存储报告：{reason}。请选取其他位置。</translation>
        </message>
        <message>
            <location filename="../../app/window/report.py" />
            <source>Copy the report</source>
            <translation>拷贝报告</translation>
        </message>
        <message>
            <location filename="../../app/window/report.py" />
            <source>Report</source>
            <translation>报告</translation>
        </message>
        <message>
            <location filename="../../app/window/report.py" />
            <source>Report a Problem</source>
            <translation>报告问题</translation>
        </message>
        <message>
            <location filename="../../app/window/report.py" />
            <source>Save the report</source>
            <translation>存储报告</translation>
        </message>
        <message>
            <location filename="../../app/window/report.py" />
            <source>Save…</source>
            <translation>存储…</translation>
        </message>
        <message>
            <location filename="../../app/window/report.py" />
            <source>Text (*.txt)</source>
            <translation>文本 (*.txt)</translation>
        </message>
        <message>
            <location filename="../../app/window/report.py" />
            <source>This report isn't sent automatically. Review it, then attach it to your bug report.</source>
            <translation>Slipstream 不会发送此报告：请先检查，再将其附加到您的错误报告中。</translation>
        </message>
        <message>
            <location filename="../../app/window/screenshot.py" />
            <source>Can't take a screenshot. Press Shift-Command-4, then attach the file.</source>
            <translation>无法截屏。请按 Shift-Command-4，然后附加该文件。</translation>
        </message>
        <message>
            <location filename="../../app/window/screenshot.py" />
            <source>Screenshot</source>
            <translation>截屏</translation>
        </message>
        <message>
            <location filename="../../app/window/screenshot.py" />
            <source>Take &amp;Screenshot…</source>
            <translation>截屏(&amp;S)…</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Answer the last prompt with and without DFlash, side by side</source>
            <translation>并排显示使用和不使用 DFlash 对上一个提示词的回答</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Can't be turned off: {why}</source>
            <translation>无法关闭：{why}</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Can't see images: {why}</source>
            <translation>无法查看图像：{why}</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Chat settings</source>
            <translation>对话设置</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Compare both modes on the last prompt</source>
            <translation>用上一个提示词比较两种模式</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Context: {count} tokens</source>
            <translation>上下文：{count} 个词元</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Drafter: {name} ({size})</source>
            <translation>草稿模型：{name}（{size}）</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Let the server draft tokens, starting with the next reply</source>
            <translation>从下一条回复开始，让服务器使用草稿词元</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Model: {name}</source>
            <translation>模型：{name}</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Models: {pair_name}</source>
            <translation>模型：{pair_name}</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Next reply: {mode}</source>
            <translation>下一条回复：{mode}</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Offline is on. Open Settings</source>
            <translation>“离线”已打开。打开设置</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Project “{name}”. Open its settings</source>
            <translation>项目“{name}”。打开其设置</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Project: {name}</source>
            <translation>项目：{name}</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Server: {host}</source>
            <translation>服务器：{host}</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Server: {host} ({program})</source>
            <translation>服务器：{host}（{program}）</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Show or hide the sidebar</source>
            <translation>显示或隐藏边栏</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Slipstream connects to no other computer. Servers on this computer can be used.</source>
            <translation>Slipstream 不会连接其他电脑。这台电脑上的服务器仍可使用。</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Speculative decoding: {method}</source>
            <translation>推测解码：{method}</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Target: {name} ({size})</source>
            <translation>目标模型：{name}（{size}）</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>The local server is on</source>
            <translation>本地服务器已开启</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>Use the small model to speed up the large one, starting with the next reply</source>
            <translation>从下一条回复开始，使用小模型加速大模型</translation>
        </message>
        <message>
            <location filename="../../app/window/top_bar.py" />
            <source>{name} on {count} Macs</source>
            <translation>{name}（{count} 台 Mac）</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Check for Updates…</source>
            <translation>检查更新(&amp;C)…</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Close Window</source>
            <translation>关闭窗口(&amp;C)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Copy</source>
            <translation>拷贝(&amp;C)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Find in Chat…</source>
            <translation>在对话中查找(&amp;F)…</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Go to Message Field</source>
            <translation>前往消息输入框(&amp;G)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Keyboard Shortcuts</source>
            <translation>键盘快捷键(&amp;K)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Larger Text</source>
            <translation>放大文字(&amp;L)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Local Server</source>
            <translation>本地服务器(&amp;L)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Minimize</source>
            <translation>最小化(&amp;M)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Models…</source>
            <translation>模型(&amp;M)…</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Paste</source>
            <translation>粘贴(&amp;P)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Quiet Mode</source>
            <translation>安静模式(&amp;Q)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Quit Slipstream</source>
            <translation>退出 Slipstream(&amp;Q)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Redo</source>
            <translation>重做(&amp;R)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Report a Problem…</source>
            <translation>报告问题(&amp;R)…</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Search All Chats</source>
            <translation>搜索所有对话(&amp;S)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Tools…</source>
            <translation>工具(&amp;T)…</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Undo</source>
            <translation>撤销(&amp;U)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;User Guide</source>
            <translation>用户指南(&amp;U)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>&amp;Zoom</source>
            <translation>缩放(&amp;Z)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Actual Si&amp;ze</source>
            <translation>实际大小(&amp;Z)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Chat Settin&amp;gs…</source>
            <translation>对话设置(&amp;G)…</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Check for Updates &amp;at Launch</source>
            <translation>启动时检查更新(&amp;A)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Command &amp;Palette…</source>
            <translation>命令面板(&amp;P)…</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Comp&amp;are Prompt…</source>
            <translation>比较提示词(&amp;A)…</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Cu&amp;t</source>
            <translation>剪切(&amp;T)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Find Ne&amp;xt</source>
            <translation>查找下一个(&amp;X)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Find Pre&amp;vious</source>
            <translation>查找上一个(&amp;V)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Go to Chat L&amp;ist</source>
            <translation>前往对话列表(&amp;I)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Ne&amp;w Chat in Project</source>
            <translation>在项目中新建对话(&amp;W)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Ne&amp;w Chat in “{project}”</source>
            <translation>在“{project}”中新建对话(&amp;W)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Next &amp;Link</source>
            <translation>下一个链接(&amp;L)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Previous Lin&amp;k</source>
            <translation>上一个链接(&amp;K)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Pro&amp;ject Settings…</source>
            <translation>项目设置(&amp;J)…</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>S&amp;maller Text</source>
            <translation>缩小文字(&amp;M)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Scroll to &amp;End</source>
            <translation>滚动到末尾(&amp;E)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Select &amp;All</source>
            <translation>全选(&amp;A)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Show &amp;Logs</source>
            <translation>显示日志(&amp;L)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Show &amp;Sidebar</source>
            <translation>显示边栏(&amp;S)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Show To&amp;ken Sources</source>
            <translation>显示词元来源(&amp;K)</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Tool Calls…</source>
            <translation>工具调用…</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>Tune &amp;Drafter…</source>
            <translation>调优草稿模型(&amp;D)…</translation>
        </message>
        <message>
            <location filename="../../app/window/window_commands.py" />
            <source>What's &amp;New</source>
            <translation>新增内容(&amp;N)</translation>
        </message>
    </context>
    <context>
        <name>Engine</name>
        <message>
            <location filename="../../app/session/local_server.py" />
            <source>internal</source>
            <extracomment>Something went wrong in Slipstream. Details are in {log_file}.</extracomment>
            <translation>Slipstream 内部出错。详情见 {log_file}。</translation>
        </message>
        <message>
            <location filename="../../app/session/local_server.py" />
            <source>pair_in_use</source>
            <extracomment>The Slipstream window is using the loaded pair. Try again when it has finished.</extracomment>
            <translation>Slipstream 窗口正在使用已载入的模型对。请在其完成后重试。</translation>
        </message>
        <message>
            <location filename="../../app/session/local_server.py" />
            <source>pair_loading</source>
            <extracomment>Another pair is loading. Try again in a moment.</extracomment>
            <translation>正在载入另一个模型对。请稍后重试。</translation>
        </message>
        <message>
            <location filename="../../app/session/updates.py" />
            <source>update_failed</source>
            <extracomment>Can't check for updates: {error}.</extracomment>
            <translation>无法检查更新：{error}。</translation>
        </message>
        <message>
            <location filename="../../app/storage/attached_files.py" />
            <source>attachment_empty</source>
            <extracomment>“{name}” is empty.</extracomment>
            <translation>“{name}”是空文件。</translation>
        </message>
        <message>
            <location filename="../../app/storage/attached_files.py" />
            <source>attachment_is_folder</source>
            <extracomment>“{name}” is a folder. Attach the files in it instead.</extracomment>
            <translation>“{name}”是文件夹。请改为附加其中的文件。</translation>
        </message>
        <message>
            <location filename="../../app/storage/attached_files.py" />
            <source>attachment_not_a_file</source>
            <extracomment>Can't attach “{name}”: it isn't a regular file.</extracomment>
            <translation>无法附加“{name}”：它不是普通文件。</translation>
        </message>
        <message>
            <location filename="../../app/storage/attached_files.py" />
            <source>attachment_not_text</source>
            <extracomment>“{name}” contains no readable text. Attach an image, a PDF, or a text, Markdown, or code file.</extracomment>
            <translation>“{name}”不含可读文本。请附加图片、PDF、文本、Markdown 或代码文件。</translation>
        </message>
        <message>
            <location filename="../../app/storage/attached_files.py" />
            <source>attachment_too_large</source>
            <extracomment>“{name}” is too large ({size}). Text files can be up to {text_limit}, PDFs up to {pdf_limit}, images up to {image_limit}.</extracomment>
            <translation>“{name}”太大（{size}）。文本文件最大 {text_limit}，PDF 最大 {pdf_limit}，图片最大 {image_limit}。</translation>
        </message>
        <message>
            <location filename="../../app/storage/attached_files.py" />
            <source>pdf_blank</source>
            <extracomment>All pages of “{name}” are blank.</extracomment>
            <translation>“{name}”的所有页面都是空白的。</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_export.py" />
            <source>export_too_large</source>
            <extracomment>The chats have {size} of images and PDFs, too much for one file. Export fewer chats at a time.</extracomment>
            <translation>这些聊天包含 {size} 的图片和 PDF，单个文件放不下。请减少每次导出的聊天数量。</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_export.py" />
            <source>nothing_to_export</source>
            <extracomment>No chats to export.</extracomment>
            <translation>没有可导出的对话。</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>import_all_damaged</source>
            <extracomment>None of the chats in “{name}” can be read.</extracomment>
            <translation>“{name}”中没有可读取的对话。</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>import_archive_damaged</source>
            <extracomment>The archive “{name}” is damaged. Download it again.</extracomment>
            <translation>归档“{name}”已损坏。请重新下载。</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>import_archive_locked</source>
            <extracomment>Can't unpack “{name}”. Unpack it with another app, then import conversations.json.</extracomment>
            <translation>无法解压“{name}”。请用其他 App 解压，然后导入 conversations.json。</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>import_failed</source>
            <extracomment>Can't import “{name}”. {reason}</extracomment>
            <translation>无法导入“{name}”。{reason}</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>import_no_chats</source>
            <extracomment>“{name}” contains no chats. Choose a file with chats of Slipstream, ChatGPT, Claude, LM Studio, Jan, or Open WebUI.</extracomment>
            <translation>“{name}”不包含对话。请选取包含 Slipstream、ChatGPT、Claude、LM Studio、Jan 或 Open WebUI 对话的文件。</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>import_no_list</source>
            <extracomment>“{name}” is damaged: it has no list of chats.</extracomment>
            <translation>“{name}”已损坏：文件中没有对话列表。</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>import_none_readable</source>
            <extracomment>None of the {count} files can be imported. {reason}</extracomment>
            <translation>{count} 个文件均无法导入。{reason}</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>import_not_json</source>
            <extracomment>“{name}” isn't a valid JSON file. Choose a file with chats of Slipstream, ChatGPT, Claude, LM Studio, Jan, or Open WebUI.</extracomment>
            <translation>“{name}”不是有效的 JSON 文件。请选取包含 Slipstream、ChatGPT、Claude、LM Studio、Jan 或 Open WebUI 对话的文件。</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>import_not_saved</source>
            <extracomment>Can't save the chats from “{name}”: {reason}.</extracomment>
            <translation>无法存储“{name}”中的对话：{reason}。</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>import_too_large</source>
            <extracomment>“{name}” is too large. Choose the JSON file inside the export.</extracomment>
            <translation>“{name}”太大。请选取导出内容中的 JSON 文件。</translation>
        </message>
        <message>
            <location filename="../../app/storage/chat_import.py" />
            <source>import_wrong_archive</source>
            <extracomment>“{name}” contains no conversations.json. Choose an archive exported from ChatGPT or Claude.</extracomment>
            <translation>“{name}”不含 conversations.json。请选取从 ChatGPT 或 Claude 导出的归档。</translation>
        </message>
        <message>
            <location filename="../../app/storage/imported_messages.py" />
            <source>chat_not_a_tree</source>
            <extracomment>The chat “{title}” is damaged: its messages are inconsistent.</extracomment>
            <translation>对话“{title}”已损坏：其消息无法连成一体。</translation>
        </message>
        <message>
            <location filename="../../app/storage/jan_import.py" />
            <source>jan_thread_damaged</source>
            <extracomment>The thread in “{folder}” is damaged.</extracomment>
            <translation>“{folder}”中的会话已损坏。</translation>
        </message>
        <message>
            <location filename="../../app/storage/records.py" />
            <source>not_a_chat</source>
            <extracomment>The file contains an item that isn't a Slipstream chat.</extracomment>
            <translation>文件中有不是 Slipstream 对话的内容。</translation>
        </message>
        <message>
            <location filename="../../app/storage/records.py" />
            <source>not_a_message</source>
            <extracomment>The file contains a message without an ID or a valid role.</extracomment>
            <translation>文件中有一条消息缺少标识或有效角色。</translation>
        </message>
        <message>
            <location filename="../../app/storage/salvage.py" />
            <source>import_database_damaged</source>
            <extracomment>Can't import “{name}”: it is damaged ({reason}).</extracomment>
            <translation>无法导入“{name}”：文件已损坏（{reason}）。</translation>
        </message>
        <message>
            <location filename="../../app/storage/salvage.py" />
            <source>import_foreign_database</source>
            <extracomment>“{name}” isn't a Slipstream database.</extracomment>
            <translation>“{name}”不是 Slipstream 数据库。</translation>
        </message>
        <message>
            <location filename="../../app/storage/salvage.py" />
            <source>import_newer</source>
            <extracomment>“{name}” was saved by a newer version of Slipstream. Update Slipstream, then import it again.</extracomment>
            <translation>“{name}”由较新版本的 Slipstream 写入。请更新 Slipstream，然后重新导入。</translation>
        </message>
        <message>
            <location filename="../../app/storage/salvage.py" />
            <source>import_nothing_left</source>
            <extracomment>“{name}” is damaged, and no chat in it can be read.</extracomment>
            <translation>“{name}”已损坏，其中没有可读取的对话。</translation>
        </message>
        <message>
            <location filename="../../app/system/chat_link.py" />
            <source>chat_link</source>
            <extracomment>Slipstream can't open this link. Links to Slipstream have the form {form}.</extracomment>
            <translation>Slipstream 无法打开此链接。Slipstream 链接的格式为 {form}。</translation>
        </message>
        <message>
            <location filename="../../app/system/chat_link.py" />
            <source>chat_link_too_long</source>
            <extracomment>The text of this link is too long. Copy the text instead, and paste it into a new chat.</extracomment>
            <translation>此链接中的文本太长。请改为拷贝该文本，然后粘贴到新对话中。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/api_server/listener.py" />
            <source>cannot_listen</source>
            <extracomment>Can't listen on “{host}”: {reason}. Choose another address.</extracomment>
            <translation>无法在“{host}”上监听：{reason}。请选取其他地址。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/api_server/listener.py" />
            <source>port_in_use</source>
            <extracomment>Port {port} is in use. Choose another port.</extracomment>
            <translation>端口 {port} 已被占用。请选取其他端口。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/calibration.py" />
            <source>measured</source>
            <extracomment>Measured</extracomment>
            <translation>已测量</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/calibration.py" />
            <source>measuring_at_depth</source>
            <extracomment>Measuring at {depth:,} tokens</extracomment>
            <translation>正在测量 {depth:,} 个词元处</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/calibration.py" />
            <source>no_memory_to_calibrate</source>
            <extracomment>There isn't enough memory to calibrate. Quit other apps, or load a smaller model.</extracomment>
            <translation>内存不足，无法校准。请退出其他 App 或载入更小的模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/calibration.py" />
            <source>nothing_to_calibrate</source>
            <extracomment>There is nothing to calibrate: the pair has no drafter.</extracomment>
            <translation>没有可校准的内容：此模型对没有草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_choice.py" />
            <source>checking_kernels</source>
            <extracomment>Checking the kernels</extracomment>
            <translation>正在检查内核</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_choice.py" />
            <source>kernel_faster</source>
            <extracomment>{saving:.1%} less time in passes of {rows} tokens</extracomment>
            <translation>每次处理 {rows} 个词元时，用时减少 {saving:.1%}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_choice.py" />
            <source>kernel_faster_in_long</source>
            <extracomment>{saving:.1%} less time in passes of {rows} tokens in long contexts</extracomment>
            <translation>在长上下文中，每次处理 {rows} 个词元时，用时减少 {saving:.1%}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_choice.py" />
            <source>kernel_faster_in_short</source>
            <extracomment>{saving:.1%} less time in passes of {rows} tokens in short contexts</extracomment>
            <translation>在短上下文中，每次处理 {rows} 个词元时，用时减少 {saving:.1%}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_choice.py" />
            <source>kernel_gain_in_noise</source>
            <extracomment>no gain beyond the noise (±{noise:.1%})</extracomment>
            <translation>收益未超过测量误差（±{noise:.1%}）</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_choice.py" />
            <source>kernel_not_faster</source>
            <extracomment>not faster: {ratio:.1%} of plain MLX's time</extracomment>
            <translation>没有更快：用时为纯 MLX 的 {ratio:.1%}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_choice.py" />
            <source>kernel_partly_right</source>
            <extracomment>{saving:.1%} less time in passes of {rows} tokens; wrong results or errors in passes of {excluded} tokens</extracomment>
            <translation>每次处理 {rows} 个词元时，用时减少 {saving:.1%}；每次处理 {excluded} 个词元时结果错误或失败</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_choice.py" />
            <source>kernel_slower_plain_steps</source>
            <extracomment>slows down plain decoding</extracomment>
            <translation>会减慢普通解码</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_choice.py" />
            <source>timing_kernels</source>
            <extracomment>Timing kernels at {depth:,} tokens</extracomment>
            <translation>正在测量 {depth:,} 个词元时的内核用时</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_selection.py" />
            <source>kernels_not_compared</source>
            <extracomment>not compared: replies with or without the kernels are missing</extracomment>
            <translation>未比较：缺少使用内核或不使用内核的回复</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_selection.py" />
            <source>kernels_not_exact</source>
            <extracomment>not exact: with the kernels, DFlash and plain decoding differ by more than rounding error</extracomment>
            <translation>不精确：使用内核时，DFlash 与普通解码的差异超出了舍入允许的范围</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_selection.py" />
            <source>no_kernels_to_try</source>
            <extracomment>This pair has no kernels to test, because it has no drafter.</extracomment>
            <translation>没有可测试的内容：此模型对没有草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_selection.py" />
            <source>no_kernels_without_metal</source>
            <extracomment>Kernels can't be tested: Metal isn't available on this machine.</extracomment>
            <translation>无法测试内核：这台电脑没有 Metal。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_selection.py" />
            <source>no_memory_to_try_kernels</source>
            <extracomment>There isn't enough memory to test the kernels. Quit other apps, or load a smaller model.</extracomment>
            <translation>内存不足，无法测试内核。请退出其他 App 或载入更小的模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_selection.py" />
            <source>no_metal</source>
            <extracomment>Metal isn't available on this machine</extracomment>
            <translation>这台电脑没有 Metal</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_trials.py" />
            <source>kernel_fails</source>
            <extracomment>failed during generation: {reason}</extracomment>
            <translation>使用时失败：{reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_trials.py" />
            <source>kernel_not_called</source>
            <extracomment>not used by this pair</extracomment>
            <translation>此模型对不使用它</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_trials.py" />
            <source>kernel_sums_by_block</source>
            <extracomment>off in float32: its sums depend on the other rows of the block</extracomment>
            <translation>在 float32 下关闭：其求和依赖块中的其他行</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_trials.py" />
            <source>kernel_verifies_only</source>
            <extracomment>off in float32: plain steps don't use it, so their sums would differ</extracomment>
            <translation>在 float32 下关闭：普通步骤不使用它，因此求和结果会不同</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/kernel_trials.py" />
            <source>kernel_wrong</source>
            <extracomment>wrong results on this machine: {detail}</extracomment>
            <translation>在这台电脑上结果错误：{detail}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/roofline.py" />
            <source>measuring_compute</source>
            <extracomment>Measuring compute</extracomment>
            <translation>正在测量计算能力</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/roofline.py" />
            <source>measuring_memory</source>
            <extracomment>Measuring memory</extracomment>
            <translation>正在测量内存</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/roofline.py" />
            <source>measuring_pair</source>
            <extracomment>Measuring the models</extracomment>
            <translation>正在测量模型</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/calibration/roofline.py" />
            <source>no_memory_to_measure</source>
            <extracomment>There isn't enough memory to measure. Quit other apps, or load a smaller model.</extracomment>
            <translation>内存不足，无法测量。请退出其他 App 或载入更小的模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/attached_images.py" />
            <source>image_bytes</source>
            <extracomment>“{name}” is too large. The limit for images is {limit} MB. Save it as JPEG.</extracomment>
            <translation>文件“{name}”太大。图像上限为 {limit} MB。请将其存储为 JPEG。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/attached_images.py" />
            <source>image_empty</source>
            <extracomment>“{name}” is empty. Send an image.</extracomment>
            <translation>“{name}”是空的。请发送图像。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/attached_images.py" />
            <source>image_format</source>
            <extracomment>Can't read “{name}”, because {format} isn't supported. Save it as JPEG, PNG, WebP, GIF, TIFF, or HEIC.</extracomment>
            <translation>无法读取“{name}”，因为不支持 {format}。请将其存储为 JPEG、PNG、WebP、GIF、TIFF 或 HEIC。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/attached_images.py" />
            <source>image_unknown</source>
            <extracomment>“{name}” isn't an image that can be read. Use JPEG, PNG, WebP, GIF, TIFF, or HEIC.</extracomment>
            <translation>“{name}”不是可读取的图像。请将其存储为 JPEG、PNG、WebP、GIF、TIFF 或 HEIC。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/errors.py" />
            <source>dflash_off</source>
            <extracomment>DFlash is off</extracomment>
            <translation>DFlash 已关闭</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/errors.py" />
            <source>no_drafter</source>
            <extracomment>no drafter is loaded</extracomment>
            <translation>没有载入草稿模型</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>cannot_delete</source>
            <extracomment>Can't delete “{path}” ({reason}). Check its permissions, then try again.</extracomment>
            <translation>无法删除“{path}”（{reason}）。请检查其权限，然后重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>cannot_read</source>
            <extracomment>Can't read “{path}” ({reason}). Check its permissions.</extracomment>
            <translation>无法读取“{path}”（{reason}）。请检查其权限。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>cannot_write</source>
            <extracomment>Can't write to “{path}” ({reason}). Free up space or check the permissions, then try again.</extracomment>
            <translation>无法写入“{path}”（{reason}）。请释放空间或检查权限，然后重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>damaged_file</source>
            <extracomment>“{path}” is damaged. Repair it, or delete it to start fresh.</extracomment>
            <translation>“{path}”已损坏。请修复它，或将其删除以重新开始。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>errno_eacces</source>
            <extracomment>Permission denied</extracomment>
            <translation>没有权限</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>errno_edquot</source>
            <extracomment>Disk quota exceeded</extracomment>
            <translation>超出磁盘配额</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>errno_eio</source>
            <extracomment>Input/output error</extracomment>
            <translation>磁盘输入/输出错误</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>errno_eisdir</source>
            <extracomment>Is a directory</extracomment>
            <translation>这是一个文件夹</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>errno_enametoolong</source>
            <extracomment>File name too long</extracomment>
            <translation>文件名过长</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>errno_enoent</source>
            <extracomment>No such file or directory</extracomment>
            <translation>文件或文件夹不存在</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>errno_enospc</source>
            <extracomment>No space left on device</extracomment>
            <translation>磁盘空间不足</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>errno_enotdir</source>
            <extracomment>Not a directory</extracomment>
            <translation>这不是文件夹</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>errno_eperm</source>
            <extracomment>Operation not permitted</extracomment>
            <translation>不允许此操作</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>errno_erofs</source>
            <extracomment>Read-only file system</extracomment>
            <translation>只读文件系统</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>not_regular_file</source>
            <extracomment>“{path}” isn't a regular file. Delete it, then try again.</extracomment>
            <translation>“{path}”不是普通文件。请删除它，然后重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/files.py" />
            <source>wrong_path</source>
            <extracomment>Can't read “{path}” ({reason}). Check the path.</extracomment>
            <translation>无法读取“{path}”（{reason}）。请检查路径。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>bad_effort</source>
            <extracomment>“{effort}” isn't a valid effort. Use one word, such as low, medium, or high.</extracomment>
            <translation>思考强度是“{effort}”。请使用 low、medium 或 high 等单词。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>cannot_see</source>
            <extracomment>It can't see images. Remove the image, or choose a model that can see.</extracomment>
            <translation>它无法查看图像。请移除图像，或选择能查看图像的模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>empty_stop_string</source>
            <extracomment>A stop sequence is empty, so every reply would end immediately. Remove it.</extracomment>
            <translation>有一个停止序列为空，因此每条回复都会立即结束。请将其移除。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>image_in_other_message</source>
            <extracomment>“{name}” is in a system prompt or a reply. Put images into messages of the user or results of tools.</extracomment>
            <translation>“{name}”位于系统提示或回复中。请将图像放入用户消息或工具结果中。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>integer_out_of_range</source>
            <extracomment>The {name} can't be {value}. Use a whole number from {lowest} to {highest}{note}.</extracomment>
            <translation>{name} 为 {value}。请使用 {lowest} 到 {highest} 之间的整数{note}。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>integer_too_small</source>
            <extracomment>The {name} can't be {value}. Use a whole number, {lowest} or greater{note}.</extracomment>
            <translation>{name} 为 {value}。请使用不小于 {lowest} 的整数{note}。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>number_out_of_range</source>
            <extracomment>The {name} can't be {value}. Use a number from {least:g} to {most:g}{note}.</extracomment>
            <translation>{name} 为 {value}。请使用 {least:g} 到 {most:g} 之间的数{note}。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>one_is_off</source>
            <extracomment> (1 is off)</extracomment>
            <translation>（1 表示关闭）</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>sees_no_images</source>
            <extracomment>Can't show “{name}” to this model. {reason}</extracomment>
            <translation>无法向此模型显示“{name}”。{reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>top_p_zero</source>
            <extracomment>Top-p is 0, which leaves no token to choose from. Use a number above 0 (1 is off).</extracomment>
            <translation>Top-p 为 0，没有可选的词元。请使用大于 0 的数；1 表示关闭。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>unknown_bias_token</source>
            <extracomment>Token {token} in the logit bias is outside this model's range of 0 to {last}. Use other tokens.</extracomment>
            <translation>logit bias 中的词元 {token} 超出了此模型的范围（0 到 {last}）。请使用其他词元。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>unknown_mode</source>
            <extracomment>“{mode}” isn't a valid mode. Use dflash or plain.</extracomment>
            <translation>模式为“{mode}”。请使用 dflash 或 plain。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>unknown_prompt_token</source>
            <extracomment>Token {token} is outside this model's range of 0 to {last}. Use other tokens, or download the model again.</extracomment>
            <translation>词元 {token} 超出此模型 0 到 {last} 的范围。请使用其他词元，或重新下载模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>with_this_drafter</source>
            <extracomment> with this drafter</extracomment>
            <translation>（由此草稿模型决定）</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/limits.py" />
            <source>zero_is_off</source>
            <extracomment> (0 is off)</extracomment>
            <translation>（0 表示关闭）</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/contract/secrets.py" />
            <source>secrets_not_saved</source>
            <extracomment>The system's keychain isn't available, so secrets are kept only until you quit.</extracomment>
            <translation>系统钥匙串不可用，因此机密值只保留到您退出为止。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/decoding/low_acceptance.py" />
            <source>drafter_for_other_text</source>
            <extracomment>the drafter was trained for another target or another kind of text</extracomment>
            <translation>该草稿模型是为其他目标模型或其他类型的文本训练的</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/decoding/low_acceptance.py" />
            <source>drafter_in_float16</source>
            <extracomment>the drafter runs in float16, where its values can overflow</extracomment>
            <translation>草稿模型使用 float16 计算，其数值可能溢出</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/decoding/low_acceptance.py" />
            <source>drafter_sees_window</source>
            <extracomment>the context exceeds {least:,} tokens, and the drafter sees only the last {window:,}</extracomment>
            <translation>上下文超过 {least:,} 个词元，而草稿模型只能看到最后 {window:,} 个</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/decoding/low_acceptance.py" />
            <source>temperature_too_high_to_draft</source>
            <extracomment>a temperature of {temperature:g} makes replies hard to predict</extracomment>
            <translation>温度为 {temperature:g}，回复难以预测</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/decoding/width.py" />
            <source>few_drafts_accepted</source>
            <extracomment>few drafts were accepted</extracomment>
            <translation>被接受的草稿很少</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/decoding/width.py" />
            <source>nothing_to_copy</source>
            <extracomment>lookup found nothing to copy</extracomment>
            <translation>前文中没有可拷贝的内容</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/decoding/width.py" />
            <source>others_share_passes</source>
            <extracomment>rows of other replies were worth more</extracomment>
            <translation>其他回复的行更值得计算</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/decoding/width.py" />
            <source>timing_plain_decoding</source>
            <extracomment>plain decoding was being timed</extracomment>
            <translation>当时正在为普通解码计时</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/decoding/width.py" />
            <source>verify_too_slow</source>
            <extracomment>verifying several tokens in one pass is too slow on this machine</extracomment>
            <translation>在这台电脑上一次验证多个词元太慢</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/decoding/width.py" />
            <source>width_1_requested</source>
            <extracomment>width 1 was requested</extracomment>
            <translation>请求的宽度为 1</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/gemma4_assistant/model.py" />
            <source>assistant_without_keys</source>
            <extracomment>The target lacks the layers whose keys this drafter reads. Choose another drafter.</extracomment>
            <translation>目标模型缺少此草稿模型所读取的键所在的层。请选取其他草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/parts/config_fields.py" />
            <source>drafter_field_missing</source>
            <extracomment>Can't use this drafter: its config.json has no “{field}”. Download it again, or choose another drafter.</extracomment>
            <translation>无法使用此草稿模型：其 config.json 中没有“{field}”。请重新下载，或选取其他草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/parts/config_fields.py" />
            <source>drafter_field_unexpected</source>
            <extracomment>Can't use this drafter: it sets “{field}” to {value} (expected: {expected}). Choose another drafter.</extracomment>
            <translation>无法使用此草稿模型：它将“{field}”设为 {value}；应为：{expected}。请选取其他草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/parts/config_fields.py" />
            <source>drafter_field_unknown</source>
            <extracomment>Can't use this drafter: its config.json has an unknown “{field}” ({value}). Choose another drafter.</extracomment>
            <translation>无法使用此草稿模型：其 config.json 中有未知的“{field}”（{value}）。请选取其他草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/parts/config_fields.py" />
            <source>drafter_fields_contradict</source>
            <extracomment>Can't use this drafter: “{first}” ({value}) conflicts with “{second}” ({other}). Choose another drafter.</extracomment>
            <translation>无法使用此草稿模型：“{first}”（{value}）与“{second}”（{other}）矛盾。请选取其他草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/parts/ends.py" />
            <source>drafter_vocabulary_invalid</source>
            <extracomment>The drafter's “{name}” must list {count:,} distinct token IDs below {vocabulary:,}. Download it again, or choose another drafter.</extracomment>
            <translation>草稿模型的“{name}”必须列出 {count:,} 个小于 {vocabulary:,} 的不同词元 ID。请重新下载，或选取其他草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/parts/tensors.py" />
            <source>drafter_groups_do_not_divide</source>
            <extracomment>The drafter's “{name}” has {columns} columns, not a multiple of the group size {group}. Download it again, or choose another drafter.</extracomment>
            <translation>草稿模型的“{name}”有 {columns} 列，无法分成每组 {group} 列。请重新下载，或选取其他草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/parts/tensors.py" />
            <source>drafter_quantization_undeclared</source>
            <extracomment>The drafter's “{name}” is stored quantized, but its config.json lacks “quantization”. Download it again, or choose another drafter.</extracomment>
            <translation>草稿模型的“{name}”以量化形式存储，但其 config.json 缺少“quantization”。请重新下载，或选取其他草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/parts/tensors.py" />
            <source>drafter_tensor_missing</source>
            <extracomment>The drafter's weights lack “{name}”. Download it again, or choose another drafter.</extracomment>
            <translation>草稿模型的权重缺少“{name}”。请重新下载，或选取其他草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/parts/tensors.py" />
            <source>drafter_tensor_not_finite</source>
            <extracomment>The drafter's “{name}” contains NaN or infinity. Download it again, or choose another drafter.</extracomment>
            <translation>草稿模型的“{name}”含有 NaN 或无穷大。请重新下载，或选取其他草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/parts/tensors.py" />
            <source>drafter_tensor_not_floating</source>
            <extracomment>The drafter's “{name}” is stored as {dtype}, not as floating point. Download it again, or choose another drafter.</extracomment>
            <translation>草稿模型的“{name}”以 {dtype} 存储，而非浮点数。请重新下载，或选取其他草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/parts/tensors.py" />
            <source>drafter_tensor_not_integer</source>
            <extracomment>The drafter's “{name}” is stored as {dtype}, not as integers. Download it again, or choose another drafter.</extracomment>
            <translation>草稿模型的“{name}”以 {dtype} 存储，而非整数。请重新下载，或选取其他草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/parts/tensors.py" />
            <source>drafter_tensor_not_packed</source>
            <extracomment>The drafter's “{name}” is stored as {dtype}, not as packed integers. Download it again, or choose another drafter.</extracomment>
            <translation>草稿模型的“{name}”以 {dtype} 存储，而非打包的整数。请重新下载，或选取其他草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/parts/tensors.py" />
            <source>drafter_tensor_shape</source>
            <extracomment>The drafter's “{name}” has shape {shape}, but its config.json requires {expected}. Download it again, or choose another drafter.</extracomment>
            <translation>草稿模型的“{name}”形状为 {shape}，但其 config.json 要求 {expected}。请重新下载，或选取其他草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/drafters/parts/tensors.py" />
            <source>drafter_tensors_unexpected</source>
            <extracomment>The drafter's config.json doesn't account for the tensor “{name}” (unexpected tensors: {count}). Choose another drafter, or use plain decoding.</extracomment>
            <translation>草稿模型的 config.json 没有说明张量“{name}”（意外的张量：{count}）。请选取其他草稿模型，或使用普通解码。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/comparison.py" />
            <source>no_drafter_to_compare</source>
            <extracomment>None of the drafters could be loaded, so there is nothing to compare.</extracomment>
            <translation>没有一个草稿模型能够载入，因此没有可比较的内容。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/comparison.py" />
            <source>pairs_not_together</source>
            <extracomment>Only one drafter can be loaded at a time, so several can't reply at the same time. Choose one of them.</extracomment>
            <translation>一次只能载入一个草稿模型，因此多个草稿模型无法同时回复。请选择其中一个。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/comparison.py" />
            <source>server_not_together</source>
            <extracomment>A server's replies can only be compared one after the other.</extracomment>
            <translation>服务器的回复只能依次比较。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/engine.py" />
            <source>checking_files</source>
            <extracomment>Checking files</extracomment>
            <translation>正在检查文件</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/engine.py" />
            <source>drafter_skipped</source>
            <extracomment>The drafter “{drafter}” can't be loaded, so another one is used. {reason}</extracomment>
            <translation>无法载入草稿模型“{drafter}”，因此改用另一个。{reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/engine.py" />
            <source>engine_busy</source>
            <extracomment>A reply is still being generated. Stop it or wait for it to finish, then try again.</extracomment>
            <translation>仍在生成回复。请停止它或等待其完成，然后重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/engine.py" />
            <source>no_drafter_usable</source>
            <extracomment>No drafter can be loaded, so DFlash is off. “{drafter}”: {reason}</extracomment>
            <translation>任何草稿模型都无法载入，因此 DFlash 已关闭。“{drafter}”：{reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/engine.py" />
            <source>no_pair_loaded</source>
            <extracomment>No model is loaded. Load one first.</extracomment>
            <translation>没有载入模型。请先载入一个。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/generation.py" />
            <source>gpu_error_survived</source>
            <extracomment>Continued after a GPU error: {reason}</extracomment>
            <translation>GPU 出错后已继续：{reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/generation.py" />
            <source>kernels_turned_off</source>
            <extracomment>Continued without Metal kernels after a GPU error: {reason}. They stay off until you choose Test Kernels in This Mac.</extracomment>
            <translation>GPU 出错后已在不使用 Metal 内核的情况下继续：{reason}。在“这台 Mac”中选取“测试内核”之前，它们会保持关闭。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/generation.py" />
            <source>memory_ended_reply</source>
            <extracomment>The reply was stopped, because memory was almost full. Quit other apps, then try again.</extracomment>
            <translation>内存几乎已满，因此回复已停止。请退出其他 App，然后重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/generation.py" />
            <source>reply_memory</source>
            <extracomment>There isn't enough memory for this reply. Quit other apps, start a new chat, or load a smaller model.</extracomment>
            <translation>内存不足，无法生成此回复。请退出其他 App、新建对话，或载入更小的模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/host.py" />
            <source>memory_full</source>
            <extracomment>Memory is almost full. Quit other apps, then try again.</extracomment>
            <translation>内存几乎已满。请退出其他 App，然后重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/host.py" />
            <source>starting_engine</source>
            <extracomment>Starting the engine</extracomment>
            <translation>正在启动引擎</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/host.py" />
            <source>too_busy</source>
            <extracomment>Too many replies are waiting. Try again in {seconds} seconds.</extracomment>
            <translation>等待中的回复过多。请在 {seconds} 秒后重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/local_comparison.py" />
            <source>no_memory_to_compare</source>
            <extracomment>There isn't enough memory to compare the replies. Quit other apps, or load a smaller model.</extracomment>
            <translation>内存不足，无法比较两条回复。请退出其他 App，或载入更小的模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/memory_use.py" />
            <source>no_memory_to_load</source>
            <extracomment>There isn't enough memory for {size:,.1f} GB of weights. Quit other apps, or choose a smaller model.</extracomment>
            <translation>内存不足，无法载入 {size:,.1f} GB 的权重。请退出其他 App，或选取更小的模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/prepare.py" />
            <source>context_full</source>
            <extracomment>The chat has {tokens:,} tokens, but the context holds only {limit:,}. Shorten the chat, or start a new one.</extracomment>
            <translation>对话有 {tokens:,} 个词元，但此模型的上下文只能容纳 {limit:,} 个。请缩短对话或新建对话。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/engine/prepare.py" />
            <source>exact_with_images</source>
            <extracomment>Exact mode can't be used with images. Turn it off, or remove “{name}”.</extracomment>
            <translation>精确模式不能与图像一起使用。请将其关闭，或移除“{name}”。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/chat_prompt.py" />
            <source>chat_without_tokens</source>
            <extracomment>The model's chat template or tokenizer produces an empty prompt. Download the model again, or choose another one.</extracomment>
            <translation>模型的聊天模板或分词器产生了空提示词。请重新下载该模型，或选取其他模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/chat_prompt.py" />
            <source>context_exceeded</source>
            <extracomment>The chat has at least {tokens:,} tokens, but the context holds only {limit:,}. Shorten the chat, or start a new one.</extracomment>
            <translation>对话至少有 {tokens:,} 个词元，但此模型的上下文只能容纳 {limit:,} 个。请缩短对话或新建对话。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/chat_prompt.py" />
            <source>half_character</source>
            <extracomment>The prompt contains half of a character ({code}). Remove it from the text, or choose another model.</extracomment>
            <translation>提示词中含有半个字符（{code}）。请从文本中删除它，或选取其他模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/chat_prompt.py" />
            <source>nothing_to_answer</source>
            <extracomment>This chat has no message to reply to. Write one first.</extracomment>
            <translation>没有可回答的内容：对话中没有您的消息。请先写一条。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/chat_prompt.py" />
            <source>prompt_without_tokens</source>
            <extracomment>The prompt is empty. Pass at least one token.</extracomment>
            <translation>提示词为空。请至少给出一个词元。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/chat_prompt.py" />
            <source>two_prompts</source>
            <extracomment>Pass either messages or prompt tokens, not both.</extracomment>
            <translation>请只给出消息或提示词词元之一，不要同时给出。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/chat_prompt.py" />
            <source>unknown_role</source>
            <extracomment>The chat has a message with the role “{role}”. Use system, user, assistant, or tool.</extracomment>
            <translation>对话中有一条角色为“{role}”的消息。请使用 system、user、assistant 或 tool。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/chat_text.py" />
            <source>chat_template_rejects</source>
            <extracomment>The model's chat template rejects this chat: {reason}</extracomment>
            <translation>模型的聊天模板拒绝了此对话：{reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/chat_text.py" />
            <source>takes_no_tools</source>
            <extracomment>This model can't call tools. Choose another model, or start a chat without tools.</extracomment>
            <translation>此模型无法调用工具。请选取其他模型，或开始不含工具的对话。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/grammars.py" />
            <source>no_tools_to_choose</source>
            <extracomment>tool_choice is “{choice}”, but the request has no tools. Add tools, or use auto.</extracomment>
            <translation>tool_choice 是“{choice}”，但请求中没有工具。请添加工具，或使用 auto。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/grammars.py" />
            <source>unknown_tool_choice</source>
            <extracomment>tool_choice is “{choice}”, but no tool has this name. Use auto, none, required, or the name of a tool.</extracomment>
            <translation>tool_choice 是“{choice}”，但没有具有此名称的工具。请使用 auto、none、required 或工具的名称。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/rank_file.py" />
            <source>rank_file_damaged</source>
            <extracomment>Can't read the tokenizer of “{name}”: {file} {fault}. Download the model again, or choose another one.</extracomment>
            <translation>无法读取“{name}”的分词器：{file} {fault}。请重新下载该模型，或选取其他模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/rank_file.py" />
            <source>rank_file_incomplete</source>
            <extracomment>lacks or repeats tokens</extracomment>
            <translation>缺少或重复词元</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/rank_file.py" />
            <source>rank_file_too_large</source>
            <extracomment>has more than {most:,} bytes</extracomment>
            <translation>超过 {most:,} 字节</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/rank_file.py" />
            <source>rank_line_invalid</source>
            <extracomment>has no valid token and rank in line {line}</extracomment>
            <translation>第 {line} 行没有有效的词元和序号</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/rank_file.py" />
            <source>special_token_invalid</source>
            <extracomment>names an invalid special token ({number})</extracomment>
            <translation>包含无效的特殊词元 ({number})</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/rank_file.py" />
            <source>special_token_twice</source>
            <extracomment>names “{text}”, which is a token already</extracomment>
            <translation>包含“{text}”，它已经是词元</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/reply_format.py" />
            <source>tool_choice_unsupported</source>
            <extracomment>This model's tool calls can't be constrained. Set tool_choice to auto or none, and don't use strict tools.</extracomment>
            <translation>此模型的调用无法受限。请使用 tool_choice auto 或 none，且不要使用严格工具。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/sight.py" />
            <source>image_token_in_text</source>
            <extracomment>The chat contains “{placeholder}”, which stands for an image in this model's prompts. Remove it.</extracomment>
            <translation>聊天中包含“{placeholder}”，它在此模型的提示中表示图像。请将其移除。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/template_sandbox.py" />
            <source>chat_template_large</source>
            <extracomment>The model's chat template produces more text than a context can hold. Choose another model.</extracomment>
            <translation>模型的聊天模板生成的文本超过任何上下文的容量。请选取其他模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/template_sandbox.py" />
            <source>chat_template_process</source>
            <extracomment>The process that renders the model's chat template ended unexpectedly. Try again, or choose another model.</extracomment>
            <translation>处理模型聊天模板的进程意外终止。请重试，或选取其他模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/template_sandbox.py" />
            <source>chat_template_slow</source>
            <extracomment>The model's chat template takes longer than {seconds:g} seconds. Choose another model.</extracomment>
            <translation>模型的聊天模板用时超过 {seconds:g} 秒。请选取其他模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/template_sandbox.py" />
            <source>tokenizer_crashes</source>
            <extracomment>The model's tokenizer crashed ({reason}). Choose another model.</extracomment>
            <translation>模型的分词器崩溃了（{reason}）。请选取其他模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/template_sandbox.py" />
            <source>tokenizer_slow</source>
            <extracomment>The model's tokenizer takes longer than {seconds:g} seconds. Shorten the chat, or choose another model.</extracomment>
            <translation>模型的分词器耗时超过 {seconds:g} 秒。请缩短对话，或选取其他模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/token_grammar.py" />
            <source>bad_schema</source>
            <extracomment>The schema can't be used: {reason}</extracomment>
            <translation>无法使用此架构：{reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/token_grammar.py" />
            <source>no_grammars</source>
            <extracomment>This model can't follow a schema or tool choice: its tokenizer isn't supported. Choose another model.</extracomment>
            <translation>此模型无法遵循架构或工具选择：其分词器不受支持。请选取其他模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/formats/token_grammar.py" />
            <source>reply_stuck</source>
            <extracomment>The reply can't match its schema or tool choice: {reason}</extracomment>
            <translation>回复无法符合其架构或工具选择：{reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/hardware/blas.py" />
            <source>blas_missing</source>
            <extracomment>OpenBLAS ({library}) isn't installed. Install it, then start Slipstream again.</extracomment>
            <translation>未安装 OpenBLAS（{library}）。请安装后重新启动 Slipstream。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/hardware/blas.py" />
            <source>blas_unknown</source>
            <extracomment>Slipstream was started with an unknown BLAS (“{value}”). Quit Slipstream, then open it normally.</extracomment>
            <translation>Slipstream 启动时指定了未知的 BLAS（“{value}”）。请退出 Slipstream，然后照常打开。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/hardware/blas.py" />
            <source>threads_invalid</source>
            <extracomment>Slipstream was started with an invalid number of threads (“{value}”). Quit Slipstream, then open it normally.</extracomment>
            <translation>Slipstream 启动时指定了无效的线程数（“{value}”）。请退出 Slipstream，然后照常打开。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/hardware/gpu_faults.py" />
            <source>gpu_compiler</source>
            <extracomment>macOS couldn't compile a kernel</extracomment>
            <translation>macOS 无法编译某个内核</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/hardware/gpu_faults.py" />
            <source>gpu_error</source>
            <extracomment>“{message}”</extracomment>
            <translation>“{message}”</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/hardware/gpu_faults.py" />
            <source>gpu_failed</source>
            <extracomment>The GPU failed: {reason}. Try again. If it fails again, quit and reopen Slipstream, or restart the Mac.</extracomment>
            <translation>GPU 出错：{reason}。请重试。如果再次出错，请退出并重新打开 Slipstream，或重新启动 Mac。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/hardware/gpu_faults.py" />
            <source>gpu_refused</source>
            <extracomment>macOS accepts no GPU work from Slipstream after earlier errors</extracomment>
            <translation>由于先前的错误，macOS 不再接受 Slipstream 的 GPU 任务</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/hardware/gpu_faults.py" />
            <source>gpu_reset</source>
            <extracomment>macOS reset the GPU because of other work</extracomment>
            <translation>macOS 因其他任务重置了 GPU</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/hardware/gpu_faults.py" />
            <source>gpu_threads</source>
            <extracomment>a kernel needs more threads than this GPU allows</extracomment>
            <translation>某个内核需要的线程数超过此 GPU 的上限</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/hardware/gpu_faults.py" />
            <source>gpu_too_slow</source>
            <extracomment>macOS stopped the GPU's work because it took too long</extracomment>
            <translation>macOS 因耗时过长而中止了 GPU 的任务</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/drafter_files.py" />
            <source>drafter_mask_needs_code</source>
            <extracomment>The drafter in {folder} stores its mask embedding in mask_embedding.pt, a format that can run code when it is loaded. Choose another drafter, or use plain decoding.</extracomment>
            <translation>{folder} 中的草稿模型将掩码嵌入存储在 mask_embedding.pt 中，读取这种格式会运行代码。请选取其他草稿模型，或使用普通解码。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/loaded_pair.py" />
            <source>drafter_vocabulary_differs</source>
            <extracomment>The drafter's vocabulary has {tokens:,} tokens and its mask token is {mask:,}, but the target has {rows:,} tokens. Choose another drafter.</extracomment>
            <translation>草稿模型的词表有 {tokens:,} 个词元，其掩码词元为 {mask:,}，但目标模型有 {rows:,} 个词元。请选取其他草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/loaded_pair.py" />
            <source>exact_without_drafter</source>
            <extracomment>Exact mode needs a drafter, but none is loaded. Turn exact mode off.</extracomment>
            <translation>精确模式使 DFlash 的文本与普通解码的文本相同，但没有载入草稿模型。请关闭精确模式。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/loaded_pair.py" />
            <source>more_logits_than_embeddings</source>
            <extracomment>The model has logits for {logits:,} tokens, but embeddings for only {rows:,}. Download it again, or choose another one.</extracomment>
            <translation>模型从 {logits:,} 个词元中选取，但只有 {rows:,} 个嵌入。请重新下载，或选取其他模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/loaded_pair.py" />
            <source>reading_drafter</source>
            <extracomment>Reading the drafter</extracomment>
            <translation>正在读取草稿模型</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/loaded_pair.py" />
            <source>ready</source>
            <extracomment>Ready</extracomment>
            <translation>就绪</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/loaded_pair.py" />
            <source>sharded_without_images</source>
            <extracomment>Images can't be used with a model that runs on several computers.</extracomment>
            <translation>在多台电脑上运行的模型不能使用图片。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/loaded_pair.py" />
            <source>warming_up</source>
            <extracomment>Warming up</extracomment>
            <translation>正在预热</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/lora.py" />
            <source>adapter_outdated</source>
            <extracomment>The tuned drafter in {file} isn't used, because the drafter or the target has changed. Tune it again.</extracomment>
            <translation>{file} 中调优过的草稿模型未使用，因为草稿模型或目标模型已更改。请重新调优。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/target_model.py" />
            <source>config_fault</source>
            <extracomment>The config.json file of “{name}” {fault}. Download the model again, or choose another one.</extracomment>
            <translation>“{name}”的 config.json {fault}。请重新下载该模型，或选取其他模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/target_model.py" />
            <source>config_field_invalid</source>
            <extracomment>has an invalid “{field}”</extracomment>
            <translation>中的“{field}”无效</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/target_model.py" />
            <source>config_field_not_positive</source>
            <extracomment>sets “{field}” to {value}, but it must be a whole number above 0</extracomment>
            <translation>中的“{field}”为 {value}；必须是大于 0 的整数</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/target_model.py" />
            <source>config_not_of_family</source>
            <extracomment>doesn't match its model family</extracomment>
            <translation>没有描述该系列的模型</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/target_model.py" />
            <source>family_unknown_to_mlx_lm</source>
            <extracomment>The installed mlx-lm can't run “{name}” (family “{family}”), and Slipstream never runs Python code that comes with a model. Choose another model.</extracomment>
            <translation>已安装的 mlx-lm 无法运行“{name}”（系列“{family}”），且绝不会运行模型附带的 Python 代码。请选取其他模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/target_model.py" />
            <source>model_unreadable</source>
            <extracomment>mlx-lm can't load “{name}”: {reason}. Download the model again, or choose another one.</extracomment>
            <translation>mlx-lm 无法载入“{name}”：{reason}。请重新下载该模型，或选取其他模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/target_model.py" />
            <source>reading_target</source>
            <extracomment>Reading the target</extracomment>
            <translation>正在读取目标模型</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/target_model.py" />
            <source>tensor_format</source>
            <extracomment>“{tensor}” is stored as {dtype}</extracomment>
            <translation>“{tensor}”以 {dtype} 格式存储</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/target_model.py" />
            <source>tensor_missing</source>
            <extracomment>“{tensor}” is missing</extracomment>
            <translation>缺少“{tensor}”</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/target_model.py" />
            <source>tensor_not_in_model</source>
            <extracomment>“{tensor}” isn't part of the model</extracomment>
            <translation>“{tensor}”不属于该模型</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/target_model.py" />
            <source>tensor_shape_differs</source>
            <extracomment>“{tensor}” has shape {found}, not {expected}</extracomment>
            <translation>“{tensor}”的形状是 {found}，而不是 {expected}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/target_model.py" />
            <source>tokenizer_unreadable</source>
            <extracomment>Can't read the tokenizer of “{name}”: tokenizer.json or tokenizer_config.json is damaged or unsupported. Download the model again, or choose another one.</extracomment>
            <translation>无法读取“{name}”的分词器：tokenizer.json 或 tokenizer_config.json 已损坏或不受支持。请重新下载该模型，或选取其他模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/target_model.py" />
            <source>weights_do_not_fit</source>
            <extracomment>The weights of “{name}” don't match its config.json ({reason}). Download the model again, or choose another one.</extracomment>
            <translation>“{name}”的权重与其 config.json 不符 ({reason})。请重新下载该模型，或选取其他模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/loading/target_model.py" />
            <source>weights_not_finite</source>
            <extracomment>The weights of “{model}” contain NaN or infinity (“{tensor}”). Download the model again, or choose another one.</extracomment>
            <translation>“{model}”的权重含有 NaN 或无穷大（“{tensor}”）。请重新下载该模型，或选取其他模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/approvals.py" />
            <source>approvals_not_saved</source>
            <extracomment>Can't save the list of allowed tools ({reason}). Check the permissions of “{file}”, then try again.</extracomment>
            <translation>无法存储允许使用的工具（{reason}）。请检查“{file}”的权限，然后重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/config.py" />
            <source>bad_server_field</source>
            <extracomment>“{field}” of “{server}” isn't valid. Use a value such as {example}.</extracomment>
            <translation>“{server}”的“{field}”无效。请使用类似 {example} 的值。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/config.py" />
            <source>bad_server_name</source>
            <extracomment>“{server}” isn't a valid server name. Use up to 64 characters, without control characters.</extracomment>
            <translation>“{server}”不是有效的服务器名称。请使用不超过 64 个字符，且不含控制字符。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/config.py" />
            <source>no_servers</source>
            <extracomment>The file has no “mcpServers” object. Add it, or choose another file.</extracomment>
            <translation>该文件中没有“mcpServers”对象。请添加它，或选取其他文件。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/config.py" />
            <source>placeholder_in_server</source>
            <extracomment>“{server}” contains the placeholder “{text}”. Replace it with the actual value.</extracomment>
            <translation>“{server}”包含占位符“{text}”。请将其替换为实际的值。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/config.py" />
            <source>secret_missing</source>
            <extracomment>The system's keychain has no “{name}” for “{server}”. Enter it again in Settings.</extracomment>
            <translation>系统钥匙串中没有“{server}”的“{name}”。请在设置中重新输入。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/config.py" />
            <source>server_incomplete</source>
            <extracomment>“{server}” needs either a command or a URL. Correct its entry, then try again.</extracomment>
            <translation>“{server}”需要命令或 URL 中的一个。请更正该条目，然后重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/config.py" />
            <source>server_named_twice</source>
            <extracomment>Two servers have the same name. Rename one of them.</extracomment>
            <translation>两个服务器名称相同。请重命名其中一个。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/config.py" />
            <source>servers_not_json</source>
            <extracomment>The list of servers isn't valid JSON ({reason}). Correct it, then try again.</extracomment>
            <translation>服务器列表不是有效的 JSON（{reason}）。请更正后重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/connection.py" />
            <source>tool_asked</source>
            <extracomment>“{tool}” requested data that Slipstream doesn't share with servers.</extracomment>
            <translation>“{tool}”请求了 Slipstream 不会与服务器共享的数据。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/connection.py" />
            <source>tool_bad_arguments</source>
            <extracomment>The arguments aren't a JSON object.</extracomment>
            <translation>参数不是 JSON 对象。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/connection.py" />
            <source>tool_bad_result</source>
            <extracomment>“{tool}” didn't return a valid result.</extracomment>
            <translation>“{tool}”没有返回有效的结果。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/connection.py" />
            <source>tool_cannot_connect</source>
            <extracomment>Can't connect to “{server}” ({reason}). Check the address and the network.</extracomment>
            <translation>无法连接到“{server}”（{reason}）。请检查地址和网络。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/connection.py" />
            <source>tool_changed</source>
            <extracomment>“{server}” changed “{tool}” after it was offered to the model. The tool wasn't called.</extracomment>
            <translation>“{server}”在提供“{tool}”之后更改了它。未调用该工具。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/connection.py" />
            <source>tool_ended</source>
            <extracomment>“{server}” exited before it responded. Check its output.</extracomment>
            <translation>“{server}”在响应之前已结束。请查看其输出。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/connection.py" />
            <source>tool_failed</source>
            <extracomment>“{tool}” failed ({reason}).</extracomment>
            <translation>“{tool}”失败（{reason}）。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/connection.py" />
            <source>tool_local_network</source>
            <extracomment>Can't connect to “{server}”. Make sure that it is on, and allow Slipstream in System Settings ▸ Privacy &amp; Security ▸ Local Network.</extracomment>
            <translation>无法连接“{server}”。请确认服务器已开机，并在系统设置 ▸ 隐私与安全性 ▸ 本地网络中允许 Slipstream 访问。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/connection.py" />
            <source>tool_no_answer</source>
            <extracomment>“{server}” didn't respond within {seconds:g} seconds.</extracomment>
            <translation>“{server}”在 {seconds:g} 秒内没有响应。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/connection.py" />
            <source>tool_rejected</source>
            <extracomment>“{server}” rejected the Authorization header. Change it in Settings.</extracomment>
            <translation>“{server}”拒绝了 Authorization 标头。请在设置中更改它。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/connection.py" />
            <source>tool_server_error</source>
            <extracomment>“{server}” returned an error ({reason}).</extracomment>
            <translation>“{server}”返回了错误（{reason}）。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/connection.py" />
            <source>tool_sign_in_failed</source>
            <extracomment>Can't sign in to “{server}” ({reason}). Try again.</extracomment>
            <translation>无法登录“{server}”（{reason}）。请重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/connection.py" />
            <source>tool_sign_in_needed</source>
            <extracomment>“{server}” requires you to sign in. Choose Sign In in Settings under Tools.</extracomment>
            <translation>“{server}”需要登录。请在设置的“工具”中选择“登录”。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/oauth.py" />
            <source>tool_url_not_secure</source>
            <extracomment>“{url}” must start with https://. Change the address.</extracomment>
            <translation>“{url}”必须以 https:// 开头。请更改地址。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/server_status.py" />
            <source>tool_server_gone</source>
            <extracomment>The connection to “{server}” has ended.</extracomment>
            <translation>与“{server}”的连接已结束。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/servers.py" />
            <source>tool_canceled</source>
            <extracomment>The call to “{tool}” was canceled.</extracomment>
            <translation>对“{tool}”的调用已取消。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/servers.py" />
            <source>tool_timed_out</source>
            <extracomment>“{tool}” didn't finish within {seconds:g} seconds and was stopped.</extracomment>
            <translation>“{tool}”在 {seconds:g} 秒内没有完成，已停止。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/transports.py" />
            <source>tool_answer_compressed</source>
            <extracomment>“{server}” sent a compressed response that wasn't requested.</extracomment>
            <translation>“{server}”发送了未请求的压缩响应。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/transports.py" />
            <source>tool_command_failed</source>
            <extracomment>Can't start “{program}” ({reason}).</extracomment>
            <translation>无法启动“{program}”（{reason}）。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/transports.py" />
            <source>tool_command_not_found</source>
            <extracomment>Can't find “{program}”. Install it, or enter its full path.</extracomment>
            <translation>找不到“{program}”。请安装它，或输入其完整路径。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/mcp/transports.py" />
            <source>tool_message_too_large</source>
            <extracomment>“{server}” was disconnected because it sent a message that was too large.</extracomment>
            <translation>“{server}”发送了过大的消息，已断开连接。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/media_process.py" />
            <source>media_process</source>
            <extracomment>The process that reads images and PDFs can't start. Install Slipstream again.</extracomment>
            <translation>读取图像和 PDF 的进程无法启动。请重新安装 Slipstream。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>document_bytes</source>
            <extracomment>The file “{name}” is too large. The limit for documents is {limit} MB. Divide it.</extracomment>
            <translation>文件“{name}”太大。文档的上限为 {limit} MB。请将其拆分。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>document_damaged</source>
            <extracomment>“{name}” is damaged and can't be read. Save or export it again.</extracomment>
            <translation>“{name}”已损坏，无法读取。请重新存储或导出。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>document_memory</source>
            <extracomment>Reading “{name}” takes too much memory. Divide it.</extracomment>
            <translation>读取“{name}”占用内存过多。请将其拆分。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>document_slow</source>
            <extracomment>“{name}” takes too long to read. Divide it, or save its text.</extracomment>
            <translation>读取“{name}”耗时过长。请将其拆分，或仅存储其文本。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>document_too_much_text</source>
            <extracomment>“{name}” has more than {limit:,} characters of text. Divide it.</extracomment>
            <translation>“{name}”的文本超过 {limit:,} 个字符。请将其拆分。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>image_damaged</source>
            <extracomment>“{name}” is damaged and can't be read. Save or export it again.</extracomment>
            <translation>“{name}”已损坏，无法读取。请重新存储或导出。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>image_memory</source>
            <extracomment>Reading “{name}” takes too much memory. Make it smaller, or save it as JPEG.</extracomment>
            <translation>读取“{name}”占用内存过多。请将其缩小，或存储为 JPEG。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>image_mode</source>
            <extracomment>Can't read “{name}”, because its kind of color isn't supported. Save it as JPEG or PNG with 8 bits per channel.</extracomment>
            <translation>无法读取“{name}”，因为不支持其颜色类型。请将其存储为每通道 8 位的 JPEG 或 PNG。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>image_pixels</source>
            <extracomment>“{name}” is too large ({width:,} × {height:,} pixels). The limit is {limit} megapixels. Make it smaller.</extracomment>
            <translation>“{name}”太大（{width:,} × {height:,} 像素）。上限为 {limit} 百万像素。请将其缩小。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>image_slow</source>
            <extracomment>“{name}” takes too long to read. Make it smaller, or save it as JPEG.</extracomment>
            <translation>读取“{name}”耗时过长。请将其缩小，或存储为 JPEG。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>media_stopped</source>
            <extracomment>Reading “{name}” was stopped. Try again.</extracomment>
            <translation>“{name}”的读取已停止。请重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>pdf_bytes</source>
            <extracomment>The file “{name}” is too large. The limit for PDFs is {limit} MB. Attach part of it.</extracomment>
            <translation>文件“{name}”太大。PDF 上限为 {limit} MB。请附加其中一部分。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>pdf_damaged</source>
            <extracomment>“{name}” is damaged and can't be read as a PDF. Export it again.</extracomment>
            <translation>“{name}”已损坏，无法作为 PDF 读取。请重新导出。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>pdf_locked</source>
            <extracomment>“{name}” is password-protected. Save a copy without a password and attach the copy.</extracomment>
            <translation>“{name}”受密码保护。请存储一份不带密码的副本并附加该副本。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>pdf_memory</source>
            <extracomment>Reading “{name}” takes too much memory. Attach part of it.</extracomment>
            <translation>读取“{name}”占用内存过多。请附加其中一部分。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>pdf_no_page</source>
            <extracomment>“{name}” has no page {number:,}. It has {pages:,} pages.</extracomment>
            <translation>“{name}”没有第 {number:,} 页。共有 {pages:,} 页。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>pdf_page_size</source>
            <extracomment>Page {number:,} of “{name}” has a size that can't be shown. Export the PDF again.</extracomment>
            <translation>“{name}”第 {number:,} 页的尺寸无法显示。请重新导出 PDF。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>pdf_too_many_pages</source>
            <extracomment>“{name}” has {pages:,} pages, and the limit is {limit:,}. Attach part of it.</extracomment>
            <translation>“{name}”有 {pages:,} 页，上限为 {limit:,} 页。请附加其中一部分。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>pdf_too_much_text</source>
            <extracomment>“{name}” has more than {limit:,} characters of text. Attach part of it.</extracomment>
            <translation>“{name}”的文本超过 {limit:,} 个字符。请附加其中一部分。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/media/unreadable.py" />
            <source>pdf_too_slow</source>
            <extracomment>“{name}” takes too long to read. Attach its text, or part of it.</extracomment>
            <translation>读取“{name}”耗时过长。请附加其文本或其中一部分。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/families.py" />
            <source>family_not_in_mlx_lm</source>
            <extracomment>The installed mlx-lm doesn't support the “{family}” family, so this model can't run. Choose another one.</extracomment>
            <translation>已安装的 mlx-lm 不支持“{family}”系列，因此该模型无法运行。请选择其他模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/families.py" />
            <source>no_mlx_lm_model</source>
            <extracomment>{name} can't run: mlx-lm {version} doesn't support the “{family}” family. It needs a later release.</extracomment>
            <translation>无法运行 {name}：mlx-lm {version} 不支持“{family}”系列。需要更新的版本。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/shardable.py" />
            <source>family_not_shardable</source>
            <extracomment>Models of the “{family}” family can't be divided among several computers (supported: {families}). Use one computer.</extracomment>
            <translation>“{family}”系列的模型无法分布到多台电脑（支持：{families}）。请使用一台电脑。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/shardable.py" />
            <source>size_not_shardable</source>
            <extracomment>This model can't be divided among several computers, because its “{field}” is {size:,}. Use one computer.</extracomment>
            <translation>此模型无法分布到多台电脑，因为其“{field}”为 {size:,}。请使用一台电脑。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/shardable.py" />
            <source>sizes_not_shardable</source>
            <extracomment>This model can't be divided among {ranks} computers, because its “{field}” is {size:,}. Use {possible}.</extracomment>
            <translation>此模型无法分布到 {ranks} 台电脑，因为其“{field}”为 {size:,}。请使用 {possible} 台。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/target_config.py" />
            <source>assistant_for_gemma</source>
            <extracomment>This drafter needs a Gemma 4 target. Choose another drafter.</extracomment>
            <translation>此草稿模型需要 Gemma 4 目标模型。请选取其他草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/target_config.py" />
            <source>assistant_for_other_keys</source>
            <extracomment>This drafter needs {expected:,} keys and values per token, not {actual:,}. Choose another drafter.</extracomment>
            <translation>此草稿模型每个词元需要 {expected:,} 个键和值，而不是 {actual:,} 个。请选取其他草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/target_config.py" />
            <source>drafter_for_other_target</source>
            <extracomment>This drafter needs a target whose “{field}” is {expected:,}, not {actual:,}. Choose another drafter.</extracomment>
            <translation>此草稿模型需要“{field}”为 {expected:,}（而非 {actual:,}）的目标模型。请选取其他草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/target_config.py" />
            <source>drafter_mask_token_missing</source>
            <extracomment>This drafter's mask token has ID {token}, but the target has only {tokens:,} tokens. Choose another drafter.</extracomment>
            <translation>此草稿模型的掩码词元 ID 为 {token}，但目标模型只有 {tokens:,} 个词元。请选取其他草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/target_config.py" />
            <source>drafter_reads_missing_layer</source>
            <extracomment>This drafter reads layer {layer:,}, but the target has only {layers:,} layers. Choose another drafter.</extracomment>
            <translation>此草稿模型读取第 {layer:,} 层，但目标模型只有 {layers:,} 层。请选取其他草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/target_config.py" />
            <source>family_without_dflash</source>
            <extracomment>DFlash isn't available for the “{family}” family yet (supported: {families}).</extracomment>
            <translation>DFlash 尚不支持“{family}”系列（支持：{families}）。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/target_config.py" />
            <source>target_format_unsupported</source>
            <extracomment>The target's quantization format “{method}” isn't supported. Choose an MLX version, such as mlx-community's.</extracomment>
            <translation>不支持目标模型的量化格式“{method}”。请选取 MLX 版本，例如 mlx-community 的版本。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/target_config.py" />
            <source>target_needs_code</source>
            <extracomment>The target requires custom Python code, which Slipstream never runs. Choose another target.</extracomment>
            <translation>目标模型需要自定义 Python 代码，而 Slipstream 绝不会运行此类代码。请选取其他目标模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/target_config.py" />
            <source>target_too_many_layers</source>
            <extracomment>The target declares more than {most:,} layers. Choose another target.</extracomment>
            <translation>目标模型声明的层数超过 {most:,}。请选取其他目标模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/configs/target_config.py" />
            <source>target_without_model_type</source>
            <extracomment>The target's config.json has no “model_type”. Choose a language model.</extracomment>
            <translation>目标模型的 config.json 没有“model_type”。请选取语言模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download.py" />
            <source>drafter_is_whole_model</source>
            <extracomment>“{repo}” is a whole model. Enter {head} to download only its MTP head.</extracomment>
            <translation>“{repo}”是完整模型。输入 {head} 可仅下载其 MTP 头。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download.py" />
            <source>held_target_gone</source>
            <extracomment>The target isn't in “{folder}” any more. Cancel this download, then download the whole pair.</extracomment>
            <translation>目标模型已不在“{folder}”中。请取消此下载，然后下载整个模型对。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download.py" />
            <source>hub_retrying</source>
            <extracomment>{endpoint} isn't responding. Trying again for up to {seconds:.0f} s.</extracomment>
            <translation>{endpoint} 没有响应。将在 {seconds:.0f} 秒内不断重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download.py" />
            <source>newer_revision</source>
            <extracomment>A newer revision of {repo} is available. Download the pair again to update.</extracomment>
            <translation>{repo} 有更新的修订版本。重新下载模型对即可更新。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download.py" />
            <source>published_file_damaged</source>
            <extracomment>The published copy of {file} in {repo} is damaged. Choose another repo.</extracomment>
            <translation>{repo} 中发布的 {file} 已损坏。请选取其他仓库。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download.py" />
            <source>repo_keeps_changing</source>
            <extracomment>{pair} keeps changing on the hub. Downloaded data is kept. Try again later.</extracomment>
            <translation>{pair} 在 Hub 上一直在更新。请稍后重试；已下载的数据会保留。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download.py" />
            <source>repo_renamed</source>
            <extracomment>{repo} was renamed to {new}. Your copy keeps the old name.</extracomment>
            <translation>{repo} 已更名为 {new}。您的副本保留旧名称。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download.py" />
            <source>repo_revised</source>
            <extracomment>{repo} was revised during the download. Changed files are being downloaded again.</extracomment>
            <translation>{repo} 在下载过程中有更新。已更改的文件会重新下载。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download.py" />
            <source>repo_tokenizer_needs_code</source>
            <extracomment>The tokenizer in {repo} requires custom Python code, which Slipstream never runs. Choose another target.</extracomment>
            <translation>{repo} 的分词器需要自定义 Python 代码，而 Slipstream 绝不会运行此类代码。请选取其他目标模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download.py" />
            <source>repo_without_tokenizer</source>
            <extracomment>{repo} has no tokenizer. Choose a complete model.</extracomment>
            <translation>{repo} 没有分词器。请选取完整的模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download.py" />
            <source>repo_without_weights</source>
            <extracomment>{repo} has no safetensors weights. Choose another repo, such as one from mlx-community.</extracomment>
            <translation>{repo} 没有 safetensors 权重。请选取其他仓库，例如 mlx-community 的仓库。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download.py" />
            <source>target_is_drafter</source>
            <extracomment>“{repo}” is a drafter ({kind}), which can't run alone. Enter it as the drafter of its target.</extracomment>
            <translation>“{repo}”是草稿模型（{kind}），不能单独运行。请将它作为其目标模型的草稿模型输入。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download_queue.py" />
            <source>download_bug</source>
            <extracomment>Something went wrong in Slipstream ({error}). Downloaded data is kept. Please report this problem.</extracomment>
            <translation>Slipstream 出现问题（{error}）。请报告此问题；已下载的数据会保留。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download_queue.py" />
            <source>download_io_error</source>
            <extracomment>Can't read or write “{path}” ({reason}). Fix the problem, then resume the download.</extracomment>
            <translation>无法读取或写入“{path}”（{reason}）。请解决问题，然后继续下载。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download_queue.py" />
            <source>invalid_queue_command</source>
            <extracomment>“{command}” isn't a valid queue command.</extracomment>
            <translation>“{command}”不是有效的队列命令。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download_queue.py" />
            <source>queue_in_use</source>
            <extracomment>Another copy of Slipstream is already downloading. Use that copy to manage downloads.</extracomment>
            <translation>另一个 Slipstream 已在下载。请在那里管理下载。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/download_queue.py" />
            <source>queue_locked</source>
            <extracomment>Another program is using the download queue. Quit it, then try again.</extracomment>
            <translation>另一个程序正在使用下载队列。请退出它，然后重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>file_gone</source>
            <extracomment>A file in {repo} no longer exists. Start the download again.</extracomment>
            <translation>{repo} 中的一个文件已不存在。请重新开始下载。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>file_not_in_repo</source>
            <extracomment>{repo} has no {file}, so it isn't a model. Choose another repo.</extracomment>
            <translation>{repo} 中没有 {file}，因此不是模型。请选取其他仓库。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>file_not_object</source>
            <extracomment>{file} in {repo} isn't a JSON object. Choose another repo.</extracomment>
            <translation>{repo} 中的 {file} 不是 JSON 对象。请选取其他仓库。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>file_refused</source>
            <extracomment>The hub refused the request for {file} in {repo} (status {status}). Try again later.</extracomment>
            <translation>Hub 拒绝了对 {repo} 中 {file} 的请求（状态 {status}）。请稍后重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>file_too_large</source>
            <extracomment>{file} in {repo} is too large to be valid. Choose another repo.</extracomment>
            <translation>{repo} 中的 {file} 过大，不可能有效。请选取其他仓库。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>hub_answer_too_large</source>
            <extracomment>The hub's response for {repo} is too large. Try another mirror.</extracomment>
            <translation>Hub 对 {repo} 的响应过大。请换一个镜像。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>hub_busy</source>
            <extracomment>The hub is busy or down (status {status}). Try again in a few minutes.</extracomment>
            <translation>Hub 繁忙或出现故障（状态 {status}）。请几分钟后重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>hub_offline</source>
            <extracomment>Slipstream was started without access to the model hub. Quit Slipstream, then open it normally.</extracomment>
            <translation>Slipstream 启动时禁用了模型 Hub。请退出 Slipstream，然后照常打开。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>hub_unreachable</source>
            <extracomment>Can't reach {endpoint}. Check your network connection.</extracomment>
            <translation>无法连接 {endpoint}。请检查网络连接。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>invalid_endpoint</source>
            <extracomment>“{endpoint}” isn't a valid hub address. Correct it in Settings ▸ Models.</extracomment>
            <translation>“{endpoint}”不是 Hub 的地址。请在“设置 ▸ 模型”中更正模型 Hub。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>invalid_hub_answer</source>
            <extracomment>The hub's response for {repo} is invalid ({reason}). Try again later, or use another mirror.</extracomment>
            <translation>Hub 对 {repo} 的响应无效（{reason}）。请稍后重试，或使用其他镜像。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>invalid_mirror</source>
            <extracomment>“{address}” isn't a web address. Enter one that starts with https://.</extracomment>
            <translation>“{address}”不是网址。请输入以 https:// 开头的地址。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>invalid_token</source>
            <extracomment>This isn't a valid access token. Create one at {endpoint}/settings/tokens.</extracomment>
            <translation>这不是有效的访问令牌。请在 {endpoint}/settings/tokens 创建一个。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>malformed_token</source>
            <extracomment>The access token in {source} isn't valid. Correct it or remove it.</extracomment>
            <translation>{source} 中的访问令牌无效。请更正或移除该令牌。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>no_commit</source>
            <extracomment>The hub provides no commit for {repo}. Try another mirror, or try again later.</extracomment>
            <translation>Hub 没有给出 {repo} 的提交。请换一个镜像，或稍后重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>no_keychain</source>
            <extracomment>Can't store the token: this system has no keychain ({reason}).</extracomment>
            <translation>此系统没有可存放令牌的钥匙串（{reason}），因此无法存储。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>no_ranges</source>
            <extracomment>The server of {file} can't send parts of files, so the MTP head of {repo} can't be downloaded. Choose another drafter.</extracomment>
            <translation>{file} 所在的服务器无法发送文件的一部分，因此无法下载 {repo} 的 MTP 头。请选取其他草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>proxy_refused</source>
            <extracomment>The proxy refused the connection to {endpoint} ({reason}). Check the proxy in the system's network settings.</extracomment>
            <translation>代理拒绝连接 {endpoint}（{reason}）。请检查系统网络设置中的代理。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>repo_disabled</source>
            <extracomment>{repo} was disabled on the hub. Choose another pair.</extracomment>
            <translation>{repo} 已在 Hub 被禁用。请选取其他模型对。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>repo_gated</source>
            <extracomment>{repo} is gated. Accept its conditions at {page}, then enter your access token in Settings ▸ Models.</extracomment>
            <translation>{repo} 受访问限制。请在 {page} 接受其条件，然后在“设置 ▸ 模型”中输入访问令牌。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>repo_gated_for_account</source>
            <extracomment>Your account can't access {repo} yet. Request access at {page}, and use a token that can read gated repos.</extracomment>
            <translation>您的账户尚无 {repo} 的访问权限。请在 {page} 申请，并使用可读取受限仓库的令牌。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>repo_not_found</source>
            <extracomment>Can't find {repo} at {endpoint} with your access token. Check the spelling and the token's permissions.</extracomment>
            <translation>使用您的访问令牌在 {endpoint} 找不到 {repo}。请检查拼写和令牌的权限。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>repo_not_found_or_private</source>
            <extracomment>Can't find {repo} at {endpoint}. Check the spelling, or enter an access token in Settings ▸ Models if it is private.</extracomment>
            <translation>在 {endpoint} 上找不到 {repo}。请检查拼写；如果它是私有的，请在“设置 ▸ 模型”中输入访问令牌。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>revised_meanwhile</source>
            <extracomment>{repo} was revised during the download. Start the download again.</extracomment>
            <translation>{repo} 在下载过程中有更新。请重新开始下载。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>revision_gone</source>
            <extracomment>{repo} no longer has this revision. Start the download again.</extracomment>
            <translation>{repo} 已没有该修订版本。请重新开始下载。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>token_rejected</source>
            <extracomment>The hub rejected your access token. Create a new one at {endpoint}/settings/tokens, then enter it in Settings ▸ Models.</extracomment>
            <translation>Hub 拒绝了您的访问令牌。请在 {endpoint}/settings/tokens 创建新令牌，然后在“设置 ▸ 模型”中输入。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>token_without_access</source>
            <extracomment>Your access token isn't allowed to read {repo}. See {page} for the requirements.</extracomment>
            <translation>您的访问令牌无权读取 {repo}。要求见 {page}。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>unknown_token</source>
            <extracomment>{endpoint} rejected this access token. Create a new one at {endpoint}/settings/tokens.</extracomment>
            <translation>{endpoint} 拒绝了此访问令牌。请在 {endpoint}/settings/tokens 创建新令牌。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>unsafe_redirect</source>
            <extracomment>{endpoint} redirected a request to an unsafe address. Try another mirror.</extracomment>
            <translation>{endpoint} 将请求重定向到了不安全的地址。请换一个镜像。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/hub.py" />
            <source>untrusted_certificate</source>
            <extracomment>The certificate for {endpoint} isn't trusted. Install your proxy's certificate on this computer.</extracomment>
            <translation>此系统不信任 {endpoint} 的证书。请将代理的证书添加到系统中。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/matching.py" />
            <source>drafter_for_target</source>
            <extracomment>For {target}, use the drafter {drafter}.</extracomment>
            <translation>对于 {target}，请使用草稿模型 {drafter}。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/matching.py" />
            <source>drafter_not_found</source>
            <extracomment>No drafter for {target} was found in the catalog, on this disk, or on the hub.</extracomment>
            <translation>在目录、本机磁盘和 Hub 上都没有找到适用于 {target} 的草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/matching.py" />
            <source>no_fitting_drafter</source>
            <extracomment>{drafter} isn't compatible with {target}: {reason}</extracomment>
            <translation>{drafter} 不适用于 {target}：{reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/matching.py" />
            <source>no_local_drafter</source>
            <extracomment>No drafter for “{target}” was found on this disk.</extracomment>
            <translation>在本机磁盘上没有找到适用于“{target}”的草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/matching.py" />
            <source>target_for_drafter</source>
            <extracomment>{drafter} was made for {name}, such as {target}.</extracomment>
            <translation>{drafter} 是为 {name} 制作的，例如 {target}。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/model_move.py" />
            <source>copy_damaged</source>
            <extracomment>The copy “{path}” doesn't match the original. Your models are unchanged. Check the disk.</extracomment>
            <translation>副本“{path}”与原件不符。请检查该磁盘；您的模型没有改变。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/model_move.py" />
            <source>downloads_in_use</source>
            <extracomment>Another copy of Slipstream is downloading or moving models. Quit it, then try again.</extracomment>
            <translation>另一个 Slipstream 正在下载或移动模型。请退出它，然后重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/model_move.py" />
            <source>file_changed_during_move</source>
            <extracomment>“{path}” changed during the move, so it was not moved.</extracomment>
            <translation>“{path}”在移动过程中被更改，因此未移动。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/model_move.py" />
            <source>folder_set_by_environment</source>
            <extracomment>The model folder is set outside Slipstream ({variable}). Change it there.</extracomment>
            <translation>模型文件夹在 Slipstream 之外指定（{variable}）。请在该处更改。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/model_move.py" />
            <source>folders_nested</source>
            <extracomment>“{new}” and “{old}” overlap. Choose a folder that isn't inside “{old}” and doesn't contain it.</extracomment>
            <translation>“{new}”与“{old}”互相包含。请选取另一个文件夹之外的文件夹。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/model_move.py" />
            <source>link_not_moved</source>
            <extracomment>“{path}” is a link to another location, so it was not moved.</extracomment>
            <translation>“{path}”是指向别处的链接，因此未移动。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/model_move.py" />
            <source>models_already_there</source>
            <extracomment>The models are already in “{folder}”. Choose another folder.</extracomment>
            <translation>模型已在“{folder}”中。请选取其他文件夹。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/model_move.py" />
            <source>move_failed</source>
            <extracomment>Can't read or write “{path}” ({reason}). Your models are unchanged.</extracomment>
            <translation>无法读取或写入“{path}”（{reason}）。您的模型没有改变。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/model_move.py" />
            <source>not_a_folder</source>
            <extracomment>“{path}” isn't a folder. Choose a folder.</extracomment>
            <translation>“{path}”不是文件夹。请选取一个文件夹。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/model_move.py" />
            <source>old_models_left</source>
            <extracomment>Can't remove “{path}” ({reason}). Delete the copies in “{old}”, or move the models to “{new}” again.</extracomment>
            <translation>无法移除“{path}”（{reason}）。请删除“{old}”中的副本，或再次将模型移到“{new}”。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/model_move.py" />
            <source>path_not_absolute</source>
            <extracomment>“{path}” isn't a full path. Enter a path that starts with /.</extracomment>
            <translation>“{path}”不是完整路径。请输入以 / 开头的路径。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/mtp_listing.py" />
            <source>no_mtp_head</source>
            <extracomment>{repo} has no MTP head. Choose another drafter.</extracomment>
            <translation>{repo} 没有 MTP 头。请选取其他草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/transfer.py" />
            <source>content_refused</source>
            <extracomment>The download server refused {file} in {repo} (status {status}). Downloaded data is kept. Try again later.</extracomment>
            <translation>内容服务器拒绝提供 {repo} 中的 {file}（状态 {status}）。请稍后重试；已下载的数据会保留。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/transfer.py" />
            <source>disk_full</source>
            <extracomment>The disk that contains “{folder}” is full. Downloaded data is kept. Free up {missing:,.2f} GB, then resume.</extracomment>
            <translation>“{folder}”所在的磁盘已满。请释放 {missing:,.2f} GB，然后继续；已下载的数据会保留。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/transfer.py" />
            <source>disk_without_large_files</source>
            <extracomment>The disk that contains “{folder}” doesn't support files this large. Move the model folder to another disk.</extracomment>
            <translation>“{folder}”所在的磁盘无法存放这么大的文件。请将模型文件夹移到其他磁盘。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/transfer.py" />
            <source>downloaded_elsewhere</source>
            <extracomment>Another program is also downloading {repo}. Each file is downloaded only once.</extracomment>
            <translation>另一个程序也在下载 {repo}。文件不会重复下载。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/transfer.py" />
            <source>file_damaged</source>
            <extracomment>{file} was corrupted during download and is being downloaded again.</extracomment>
            <translation>{file} 在下载过程中损坏，正在重新下载。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/transfer.py" />
            <source>file_damaged_twice</source>
            <extracomment>{file} in {repo} was corrupted in two downloads and has been deleted. Try again later, or use another mirror.</extracomment>
            <translation>{repo} 中的 {file} 在两次下载中均损坏，已被删除。请稍后重试，或使用其他镜像。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/transfer.py" />
            <source>host_cannot_resume</source>
            <extracomment>The host of {file} can't resume downloads, so this one starts over.</extracomment>
            <translation>{file} 的服务器不支持续传，因此该文件会从头下载。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/transfer.py" />
            <source>hub_cut_off</source>
            <extracomment>The model hub cuts off its responses. Trying again.</extracomment>
            <translation>模型 Hub 中断了响应。正在重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/transfer.py" />
            <source>hub_cuts_off</source>
            <extracomment>{endpoint} has cut off every response for {seconds:.0f} seconds. Downloaded data is kept. Check your network and proxy, then resume the download.</extracomment>
            <translation>{endpoint} 在 {seconds:.0f} 秒内中断了每一次响应。已下载的数据会保留。请检查网络和代理，然后继续下载。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/transfer.py" />
            <source>hub_silent</source>
            <extracomment>The model hub isn't responding. Trying again.</extracomment>
            <translation>模型 Hub 没有响应。正在重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/transfer.py" />
            <source>hub_timeout</source>
            <extracomment>{endpoint} hasn't responded for {seconds:.0f} seconds. Check your network, then resume the download.</extracomment>
            <translation>{endpoint} 已有 {seconds:.0f} 秒没有响应。请检查网络，然后继续下载。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/downloads/transfer.py" />
            <source>link_expired</source>
            <extracomment>The download link has expired. Try again.</extracomment>
            <translation>下载链接已过期。请重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/chat_template.py" />
            <source>completes_only</source>
            <extracomment>This model has no chat template, so it can't chat. It can only continue text, through the local server's /v1/completions. To chat, choose an instruction-tuned model.</extracomment>
            <translation>此模型没有聊天模板，因此无法对话。它只能通过本地服务器的 /v1/completions 续写文本。要对话，请选取指令微调模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/chat_template.py" />
            <source>no_chat_template</source>
            <extracomment>This model has no chat template, so it can't chat. Choose an instruction-tuned model.</extracomment>
            <translation>此模型没有聊天模板，因此无法对话。请选取指令微调模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/checkpoint.py" />
            <source>damaged_weights</source>
            <extracomment>“{name}” is damaged or incomplete. Download the model again.</extracomment>
            <translation>“{name}”已损坏或不完整。请重新下载该模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/checkpoint.py" />
            <source>invalid_config</source>
            <extracomment>“{path}” isn't a valid model config. Download the model again.</extracomment>
            <translation>“{path}”不是有效的模型配置。请重新下载该模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/checkpoint.py" />
            <source>model_file_too_large</source>
            <extracomment>“{path}” is too large ({size:,.0f} MB, limit {limit:,.0f} MB). Download the model again, or choose another one.</extracomment>
            <translation>“{path}”过大（{size:,.0f} MB，上限 {limit:,.0f} MB）。请重新下载该模型，或选取其他模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/checkpoint.py" />
            <source>no_checkpoint_folder</source>
            <extracomment>Can't find the folder “{folder}”. Choose a folder with a model's config.json and weights.</extracomment>
            <translation>找不到文件夹“{folder}”。请选取包含模型的 config.json 和权重的文件夹。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/checkpoint.py" />
            <source>no_config</source>
            <extracomment>“{folder}” has no config.json, so it isn't a complete model. Choose another folder.</extracomment>
            <translation>“{folder}”中没有 config.json，因此不是完整的模型。请选取其他文件夹。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/checkpoint.py" />
            <source>no_weights</source>
            <extracomment>“{folder}” has no weights (model*.safetensors). Download the model again, or choose another folder.</extracomment>
            <translation>“{folder}”中没有权重 (model*.safetensors)。请重新下载该模型，或选取其他文件夹。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/checkpoint.py" />
            <source>weights_format_unknown</source>
            <extracomment>MLX can't read “{tensor}” in “{file}”, which is stored as {format}. Choose another model.</extracomment>
            <translation>MLX 无法读取“{file}”中的“{tensor}”，因为它以 {format} 格式存储。请选取其他模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/checkpoint.py" />
            <source>weights_missing</source>
            <extracomment>“{folder}” is missing weight files, such as {file}. Existing files are kept. Download the model again.</extracomment>
            <translation>“{folder}”缺少权重文件，例如 {file}。请重新下载该模型；已有的文件会保留。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/hub_cache.py" />
            <source>link_leads_out</source>
            <extracomment>“{path}” is a link that points outside the model folder. Remove the link, then try again.</extracomment>
            <translation>“{path}”是一个指向模型文件夹之外的链接。请移除该链接，然后重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/hub_cache.py" />
            <source>model_folder_gone</source>
            <extracomment>Can't find the model folder “{folder}”. Connect its disk, or choose another folder.</extracomment>
            <translation>找不到模型文件夹“{folder}”。请连接其磁盘，或选取其他文件夹。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/hub_cache.py" />
            <source>model_folder_missing</source>
            <extracomment>“{path}” doesn't contain a folder path.</extracomment>
            <translation>“{path}”中没有文件夹路径。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/hub_cache.py" />
            <source>model_folder_unknown</source>
            <extracomment>For now, Slipstream is using “{folder}” for models: {reason}</extracomment>
            <translation>Slipstream 暂时在“{folder}”中查找模型：{reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/hub_cache.py" />
            <source>models_moved</source>
            <extracomment>The models were moved to “{folder}”. Try again.</extracomment>
            <translation>模型已移到“{folder}”。请重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/hub_cache.py" />
            <source>models_moving</source>
            <extracomment>The models are being moved to another folder. Wait for the move to finish, then try again.</extracomment>
            <translation>模型正在移到其他文件夹。请等待移动完成，然后重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/hub_cache.py" />
            <source>no_space</source>
            <extracomment>The disk that contains “{folder}” has only {free:,.2f} GB free, but {needed:,.2f} GB are needed. Free up space first.</extracomment>
            <translation>“{folder}”所在的磁盘需要 {needed:,.2f} GB 可用空间，但只有 {free:,.2f} GB。请先释放空间。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/hub_cache.py" />
            <source>repo_being_downloaded</source>
            <extracomment>{repo} is being downloaded. Stop the download or wait for it to finish, then try again.</extracomment>
            <translation>正在下载 {repo}。请停止该下载或等待其完成，然后重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/hub_cache.py" />
            <source>repo_purged</source>
            <extracomment>{repo} can no longer be restored. Download it again.</extracomment>
            <translation>{repo} 已无法恢复。请重新下载。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/loadable.py" />
            <source>drafter_not_usable</source>
            <extracomment>{reason} Load the target without a drafter to use plain decoding.</extracomment>
            <translation>{reason} 请不带草稿模型载入目标模型，以普通方式解码。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/loadable.py" />
            <source>model_gone</source>
            <extracomment>Can't find the folder “{folder}”. If another app deleted the model, choose another one, or download it.</extracomment>
            <translation>找不到文件夹“{folder}”。如果其他应用删除了该模型，请选取其他模型，或下载它。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/loadable.py" />
            <source>no_tokenizer</source>
            <extracomment>The model in “{folder}” has no tokenizer (tokenizer.json). Download it again.</extracomment>
            <translation>“{folder}”中的模型没有分词器 (tokenizer.json)。请重新下载。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/loadable.py" />
            <source>tokenizer_needs_code</source>
            <extracomment>The tokenizer of “{name}” requires custom Python code ({code}), which Slipstream never runs. Choose a copy of the model that has a tokenizer.json.</extracomment>
            <translation>“{name}”的分词器需要自定义 Python 代码（{code}），而 Slipstream 绝不会运行此类代码。请选取带有 tokenizer.json 的模型副本。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/locks.py" />
            <source>repo_being_removed</source>
            <extracomment>Another program is removing {repo}. Try again in a moment.</extracomment>
            <translation>另一个程序正在移除 {repo}。请稍后重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/mtp_head.py" />
            <source>damaged_weights_header</source>
            <extracomment>The header of “{file}” is damaged. Download it again.</extracomment>
            <translation>“{file}”的文件头已损坏。请重新下载。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/mtp_head.py" />
            <source>head_tensor_not_usable</source>
            <extracomment>Can't use “{tensor}” in {file}, which is stored as {dtype}. Choose another drafter.</extracomment>
            <translation>无法使用 {file} 中的“{tensor}”，它以 {dtype} 格式存储。请选取其他草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/repo.py" />
            <source>files_collide</source>
            <extracomment>{repo} contains {first} and {second}, which are the same file on a Mac. Choose another repo.</extracomment>
            <translation>{repo} 含有 {first} 和 {second}，它们在 Mac 上是同一个文件。请选取其他仓库。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/repo.py" />
            <source>invalid_repo_name</source>
            <extracomment>{name} isn't a repo name. Use the form OWNER/NAME, such as mlx-community/Qwen3-4B-bf16.</extracomment>
            <translation>{name} 不是仓库名称。请使用“所有者/名称”的形式，例如 mlx-community/Qwen3-4B-bf16。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/repo.py" />
            <source>invalid_revision</source>
            <extracomment>{name} isn't a revision. Use a branch, tag, or commit ID.</extracomment>
            <translation>{name} 不是修订版本。请使用分支、标签或提交 ID。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/repo.py" />
            <source>no_file_checksum</source>
            <extracomment>The hub provides no checksum for {file} in {repo}. Try another mirror, or try again later.</extracomment>
            <translation>Hub 没有提供 {repo} 中 {file} 的校验和。请换一个镜像，或稍后重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/repo.py" />
            <source>no_file_size</source>
            <extracomment>The hub provides no size for {file} in {repo}. Try again later.</extracomment>
            <translation>Hub 没有提供 {repo} 中 {file} 的大小。请稍后重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/repo.py" />
            <source>too_many_files</source>
            <extracomment>{repo} lists {count:,} files, but a model has at most {most:,}. Choose another repo.</extracomment>
            <translation>{repo} 列出了 {count:,} 个文件，但一个模型最多只有 {most:,} 个。请选取其他仓库。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/repo.py" />
            <source>unsafe_file_name</source>
            <extracomment>{repo} contains a file named {name}, which points outside its folder. Choose another repo.</extracomment>
            <translation>{repo} 含有名为 {name} 的文件，它指向文件夹之外。请选取其他仓库。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/tuning_files.py" />
            <source>adapter_damaged</source>
            <extracomment>The tuned drafter in {file} is damaged, so it isn't used. Delete the file, or tune again.</extracomment>
            <translation>{file} 中调优过的草稿模型已损坏，因此未使用。请删除该文件，或重新调优。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/files/tuning_files.py" />
            <source>tuning_already</source>
            <extracomment>This drafter is already being tuned. Wait for it to finish, then try again.</extracomment>
            <translation>此草稿模型正在调优中。请等待其结束后再试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/fit.py" />
            <source>fit_crowded</source>
            <extracomment>At {context:,} tokens, this pair needs {needed}, but only {free} is free. Quit other apps first.</extracomment>
            <translation>在 {context:,} 个词元时，此模型对需要 {needed}，但只有 {free} 可用。请先退出其他 App。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/fit.py" />
            <source>fit_no</source>
            <extracomment>At {context:,} tokens, this pair needs {needed}, more than the {limit} that this machine can allocate.</extracomment>
            <translation>在 {context:,} 个词元时需要 {needed}，超过这台电脑可分配的 {limit}。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/fit.py" />
            <source>fit_ok</source>
            <extracomment>At {context:,} tokens, this pair needs {needed} of the {budget} available to models.</extracomment>
            <translation>在 {context:,} 个词元时，此模型对需要 {needed}，可供模型使用的内存为 {budget}。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/fit.py" />
            <source>fit_unknown</source>
            <extracomment>The memory use of this pair is unknown because its config.json is missing required fields.</extracomment>
            <translation>此模型对的内存用量未知，因为其 config.json 缺少字段。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/fit.py" />
            <source>fit_will_swap</source>
            <extracomment>At {context:,} tokens, this pair needs {needed}, more than the {budget} available to models. Replies would be very slow.</extracomment>
            <translation>在 {context:,} 个词元时，此模型对需要 {needed}，超过可供模型使用的 {budget}。回复会非常慢。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/catalog.py" />
            <source>bits_not_offered</source>
            <extracomment>{name} isn't available at {bits} bits. Choose from {available}.</extracomment>
            <translation>{name} 没有 {bits} 位版本。可选：{available}。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/catalog.py" />
            <source>catalog_entry_ignored</source>
            <extracomment>Entry {number} in “{file}” is ignored: {reason}</extracomment>
            <translation>已忽略“{file}”的第 {number} 项：{reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/catalog.py" />
            <source>catalog_not_list</source>
            <extracomment>“{file}” isn't a list of pairs, so it is ignored.</extracomment>
            <translation>“{file}”不是模型对列表，因此已忽略。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/catalog.py" />
            <source>catalog_repos_unknown</source>
            <extracomment>This pair's repo names aren't known yet.</extracomment>
            <translation>此模型对的仓库名称尚不清楚。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/catalog.py" />
            <source>invalid_catalog_field</source>
            <extracomment>“{field}” is missing or invalid.</extracomment>
            <translation>“{field}”缺失或无效。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/catalog.py" />
            <source>not_in_catalog</source>
            <extracomment>“{id}” isn't in the catalog (similar: {similar}). Choose another pair.</extracomment>
            <translation>“{id}”不在目录中。相近的有：{similar}。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/catalog.py" />
            <source>pair_is_built_in</source>
            <extracomment>{name} comes with Slipstream and can't be downloaded or removed.</extracomment>
            <translation>{name} 随 Slipstream 提供，无法下载或移除。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/catalog.py" />
            <source>pair_not_downloadable</source>
            <extracomment>{name} can't be downloaded. {reason}</extracomment>
            <translation>无法下载 {name}。{reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/identity.py" />
            <source>folder_of_other_bits</source>
            <extracomment>Despite its name, it isn't {repo}: its weights have {bits} bits.</extracomment>
            <translation>尽管名称如此，它并不是 {repo}：它的权重为 {bits} 位。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/identity.py" />
            <source>folder_of_other_family</source>
            <extracomment>Despite its name, it isn't {repo}: its family is “{family}”.</extracomment>
            <translation>尽管名称如此，它并不是 {repo}：它的系列是“{family}”。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/library.py" />
            <source>folder_not_added</source>
            <extracomment>“{path}” isn't one of the folders you added. Choose from: {folders}.</extracomment>
            <translation>“{path}”不是您添加的文件夹之一。可选：{folders}。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/library.py" />
            <source>no_such_folder</source>
            <extracomment>Can't find the folder “{path}”. Choose another folder.</extracomment>
            <translation>找不到文件夹“{path}”。请选取其他文件夹。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/speeds.py" />
            <source>speed_measured</source>
            <extracomment>Measured in the last {count} replies on this machine; the median is {median} tok/s.</extracomment>
            <translation>根据这台电脑上最近 {count} 条回复测得；中位数为 {median} 词元/秒。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/speeds.py" />
            <source>speed_of_several</source>
            <extracomment>{reason} Each pass waits for the other computers {count} times, for {milliseconds:.2f} ms.</extracomment>
            <translation>{reason}每次计算要等待其他电脑 {count} 次，每次 {milliseconds:.2f} 毫秒。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/speeds.py" />
            <source>speed_own</source>
            <extracomment>Your replies with this pair reached {tokens:.1f} tokens per round.</extracomment>
            <translation>您用此模型对得到的回复每轮达到 {tokens:.1f} 个词元。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/speeds.py" />
            <source>speed_plain</source>
            <extracomment>Each token reads {read:,.2f} GB of weights, and this machine reads {bandwidth:,.0f} GB/s. Long chats are slower.</extracomment>
            <translation>每个词元读取 {read:,.2f} GB 权重，而这台电脑每秒读取 {bandwidth:,.0f} GB。较长的对话用时更久。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/speeds.py" />
            <source>speed_published</source>
            <extracomment>Published drafters of this kind reach {few:g} to {many:g} tokens per round.</extracomment>
            <translation>已公布的同类草稿模型每轮可达 {few:g} 到 {many:g} 个词元。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/speeds.py" />
            <source>speed_published_once</source>
            <extracomment>A published drafter of this kind reaches {tokens:g} tokens per round.</extracomment>
            <translation>已公布的一个同类草稿模型每轮可达 {tokens:g} 个词元。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/models/library/speeds.py" />
            <source>speed_timed</source>
            <extracomment>{reason} The time of a round was measured on this machine.</extracomment>
            <translation>{reason}每轮用时已在这台电脑上测得。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/network/local_network.py" />
            <source>remote_local_network</source>
            <extracomment>“{host}” can't be reached. Make sure that it is on, and allow Slipstream in System Settings ▸ Privacy &amp; Security ▸ Local Network.</extracomment>
            <translation>无法连接到“{host}”。请确认服务器已开机，并在系统设置 ▸ 隐私与安全性 ▸ 本地网络中允许 Slipstream 访问。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/network/offline.py" />
            <source>offline</source>
            <extracomment>Offline is on, so “{host}” can't be reached. Turn it off in Settings ▸ Privacy, then try again.</extracomment>
            <translation>“离线”已打开，因此无法连接“{host}”。请在“设置 ▸ 隐私”中关闭它，然后重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/network/offline.py" />
            <source>offline_command</source>
            <extracomment>Slipstream was started with {variable}, so “{host}” can't be reached. Quit Slipstream, then open it normally.</extracomment>
            <translation>Slipstream 以 {variable} 启动，因此无法连接“{host}”。请退出 Slipstream，然后正常打开。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/prompt_sets/set_download.py" />
            <source>set_gone</source>
            <extracomment>{repo} no longer has the revision that Slipstream uses ({revision}). Use another set, or a file of your own.</extracomment>
            <translation>{repo} 已没有 Slipstream 使用的修订版本（{revision}）。请使用其他提示词集，或您自己的文件。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/prompt_sets/set_download.py" />
            <source>set_unreadable</source>
            <extracomment>Can't read “{file}” from {repo}: {reason}. Remove the set, then download it again.</extracomment>
            <translation>无法读取 {repo} 中的“{file}”：{reason}。请移除该提示词集，然后重新下载。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_bad_address</source>
            <extracomment>“{url}” isn't a valid address. Enter one such as http://192.168.1.20:8000.</extracomment>
            <translation>“{url}”不是有效的地址。请输入类似 http://192.168.1.20:8000 的地址。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_bad_ca</source>
            <extracomment>The certificate file “{file}” can't be used: {reason}. Choose a PEM file.</extracomment>
            <translation>无法使用证书文件“{file}”：{reason}。请选取一个 PEM 文件。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_bad_header</source>
            <extracomment>The key or a header contains characters that HTTP doesn't allow. Correct it.</extracomment>
            <translation>密钥或某个标头含有 HTTP 不允许的字符。请更正。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_busy</source>
            <extracomment>“{host}” is busy. Try again in a moment.</extracomment>
            <translation>“{host}”正忙。请稍后重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_busy_until</source>
            <extracomment>“{host}” is busy. Try again in {seconds} seconds.</extracomment>
            <translation>“{host}”正忙。请在 {seconds} 秒后重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_certificate</source>
            <extracomment>The certificate for “{host}” isn't trusted. Add its certificate authority to the connection.</extracomment>
            <translation>“{host}”的证书不受信任。请将其证书颁发机构添加到连接中。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_certificate_invalid</source>
            <extracomment>The certificate for “{host}” isn't valid: {reason}. Check the address, or renew the certificate.</extracomment>
            <translation>“{host}”的证书无效：{reason}。请检查地址，或更新证书。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_context_exceeded</source>
            <extracomment>The chat is too long for the model on “{host}”: {reason}</extracomment>
            <translation>对话对于“{host}”上的模型来说太长：{reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_failed</source>
            <extracomment>“{host}” failed: {reason}</extracomment>
            <translation>“{host}”出错：{reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_key</source>
            <extracomment>“{host}” rejected the key. Enter the correct key for this connection.</extracomment>
            <translation>“{host}”拒绝了密钥。请为此连接输入正确的密钥。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_lost</source>
            <extracomment>The connection to “{host}” was lost. Try again.</extracomment>
            <translation>与“{host}”的连接已断开。请重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_no_model</source>
            <extracomment>“{host}” doesn't offer “{model}” anymore: {reason}</extracomment>
            <translation>“{host}”不再提供“{model}”：{reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_no_route</source>
            <extracomment>“{host}” can't be reached. Check the address and your network connection.</extracomment>
            <translation>无法连接到“{host}”。请检查地址和网络连接。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_no_tools</source>
            <extracomment>“{host}” isn't set up for tool calls. Turn off tools in this chat.</extracomment>
            <translation>“{host}”未设置工具调用。请关闭此对话中的工具。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_not_api</source>
            <extracomment>“{host}” responded with HTTP status {status} and no message. Check the address.</extracomment>
            <translation>“{host}”以 HTTP 状态 {status} 响应，没有附带消息。请检查地址。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_not_encrypted</source>
            <extracomment>The connection to “{host}” isn't encrypted. Use https, or an address on your own network.</extracomment>
            <translation>与“{host}”的连接未加密。请使用 https，或您自己网络中的地址。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_nothing_listens</source>
            <extracomment>Nothing listens at “{host}”. Start the server, or check the address and port.</extracomment>
            <translation>“{host}”上没有正在运行的服务器。请启动服务器，或检查地址和端口。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_password_in_address</source>
            <extracomment>The address contains a password. Enter the key in its own field.</extracomment>
            <translation>地址中含有密码。请在密钥栏中输入密钥。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_refused</source>
            <extracomment>“{host}” refused the request: {reason}</extracomment>
            <translation>“{host}”拒绝了请求：{reason}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_timed_out</source>
            <extracomment>“{host}” sent nothing for {seconds:g} seconds. Try again.</extracomment>
            <translation>“{host}”在 {seconds:g} 秒内没有发送任何内容。请重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_unknown_host</source>
            <extracomment>“{host}” wasn't found. Check the spelling and your network connection.</extracomment>
            <translation>找不到“{host}”。请检查拼写和网络连接。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_unreachable</source>
            <extracomment>“{host}” isn't responding. Check the address, and make sure that the server is running.</extracomment>
            <translation>“{host}”没有应答。请检查地址，以及服务器是否在运行。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/endpoint.py" />
            <source>remote_without_tls</source>
            <extracomment>“{host}” doesn't accept encrypted connections. Check the port, or enter the address with http://.</extracomment>
            <translation>“{host}”不接受加密连接。请检查端口，或输入以 http:// 开头的地址。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/remote_engine.py" />
            <source>connecting</source>
            <extracomment>Connecting to {host}</extracomment>
            <translation>正在连接 {host}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/remote_engine.py" />
            <source>remote_internal</source>
            <extracomment>Something went wrong in Slipstream while using the remote server. Try again.</extracomment>
            <translation>Slipstream 在使用远程服务器时出错。请重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/remote_engine.py" />
            <source>remote_no_count</source>
            <extracomment>The server can't count tokens before a reply.</extracomment>
            <translation>服务器无法在回复之前计算词元数。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/remote_engine.py" />
            <source>remote_no_plain</source>
            <extracomment>“{host}” can't turn off speculative decoding. Add an address for plain replies to the connection.</extracomment>
            <translation>“{host}”无法关闭推测解码。请在连接中添加普通回复的地址。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/remote_engine.py" />
            <source>remote_no_stream</source>
            <extracomment>“{host}” doesn't respond like an OpenAI-compatible server. Check the address.</extracomment>
            <translation>“{host}”的响应不像与 OpenAI 兼容的服务器。请检查地址。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/remote_engine.py" />
            <source>remote_not_here</source>
            <extracomment>This isn't available with a remote server.</extracomment>
            <translation>使用远程服务器时此功能不可用。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/request_body.py" />
            <source>remote_no_continue</source>
            <extracomment>This server can't continue a reply. Regenerate the reply instead.</extracomment>
            <translation>此服务器无法继续回复。请改为重新生成回复。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/saved_endpoints.py" />
            <source>connection_secret_missing</source>
            <extracomment>The system's keychain has no key for “{connection}”. Choose File ▸ Models and enter it again.</extracomment>
            <translation>系统钥匙串中没有“{connection}”的密钥。请选取“文件”&gt;“模型”，然后重新输入。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/saved_endpoints.py" />
            <source>connections_damaged</source>
            <extracomment>The list of connections was damaged and renamed to “{file}”. Add your connections again.</extracomment>
            <translation>连接列表已损坏，并已重命名为“{file}”。请重新添加您的连接。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/saved_endpoints.py" />
            <source>connections_newer</source>
            <extracomment>Your connections were saved by a newer version of Slipstream. Update Slipstream to use them.</extracomment>
            <translation>连接列表由较新版本的 Slipstream 写入。请更新 Slipstream 以使用这些连接。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/server.py" />
            <source>remote_no_list</source>
            <extracomment>“{host}” doesn't respond like an OpenAI-compatible server. Check the address.</extracomment>
            <translation>“{host}”的响应不像与 OpenAI 兼容的服务器。请检查地址。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/server.py" />
            <source>remote_no_models</source>
            <extracomment>“{host}” lists no models. Enter the name of the model in the connection.</extracomment>
            <translation>“{host}”没有列出任何模型。请在连接中输入模型的名称。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/server.py" />
            <source>remote_no_speculation</source>
            <extracomment>the server doesn't report speculative decoding</extracomment>
            <translation>服务器未报告推测解码</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/server.py" />
            <source>remote_only_speculation</source>
            <extracomment>the connection has no address for plain replies</extracomment>
            <translation>该连接没有普通回复的地址</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/server.py" />
            <source>remote_redirects</source>
            <extracomment>“{host}” redirects to “{address}”. Enter that address.</extracomment>
            <translation>“{host}”重定向到“{address}”。请输入该地址。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/server.py" />
            <source>remote_too_slow</source>
            <extracomment>“{host}” didn't respond within {seconds:g} seconds. Check that the server is running.</extracomment>
            <translation>“{host}”在 {seconds:g} 秒内没有响应。请检查服务器是否正在运行。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/server.py" />
            <source>remote_unknown_model</source>
            <extracomment>“{host}” doesn't have “{model}”. Available models: {models}.</extracomment>
            <translation>“{host}”没有“{model}”。可用的模型：{models}。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/streamed_reply.py" />
            <source>remote_bad_chunk</source>
            <extracomment>“{host}” sent invalid data in its reply. Try again.</extracomment>
            <translation>“{host}”发送了无效的回复片段。请重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/streamed_reply.py" />
            <source>remote_cut</source>
            <extracomment>“{host}” ended the reply early. The partial reply is kept. Try again.</extracomment>
            <translation>“{host}”过早结束了回复。已收到的部分会保留。请重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/streamed_reply.py" />
            <source>remote_line_too_long</source>
            <extracomment>The server sent a line that is too long. Check the address.</extracomment>
            <translation>服务器发送了过长的一行。请检查地址。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/switch.py" />
            <source>remote_private</source>
            <extracomment>This chat is private, so it isn't sent to a server.</extracomment>
            <translation>此对话是私密的，不会发送到服务器。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/remote/trial.py" />
            <source>remote_plain_speculates</source>
            <extracomment>“{host}” uses speculative decoding too. Enter the address of a server without it.</extracomment>
            <translation>“{host}”也使用推测解码。请输入不使用推测解码的服务器地址。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/leader.py" />
            <source>ring_not_joined</source>
            <extracomment>The computers can't exchange results. Allow Slipstream's connections in their firewalls, then try again.</extracomment>
            <translation>这些电脑无法交换结果。请在它们的防火墙中允许 Slipstream 的连接，然后重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/led_engine.py" />
            <source>connecting_workers</source>
            <extracomment>Connecting to the other computers</extracomment>
            <translation>正在连接其他电脑</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/led_engine.py" />
            <source>not_sharded</source>
            <extracomment>This isn't available with a model that runs on several computers.</extracomment>
            <translation>在多台电脑上运行的模型不支持此功能。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/led_engine.py" />
            <source>sharded_not_exact</source>
            <extracomment>Exact mode isn't available on several computers. Turn it off.</extracomment>
            <translation>精确模式在多台电脑上不可用。请将其关闭。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/led_engine.py" />
            <source>sharded_other_target</source>
            <extracomment>On several computers, only drafters of the loaded target can be compared.</extracomment>
            <translation>在多台电脑上，只能比较已载入目标模型的草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/links.py" />
            <source>ring_ended</source>
            <extracomment>The process that runs the model has ended. Try again to load the model again.</extracomment>
            <translation>运行模型的进程已结束。请重试以重新载入模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/links.py" />
            <source>worker_failed</source>
            <extracomment>“{name}” has failed: {reason} Try again to reconnect.</extracomment>
            <translation>“{name}”出错：{reason} 请重试以重新连接。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/links.py" />
            <source>worker_lost</source>
            <extracomment>The connection to “{name}” was lost. Check that it is awake and connected, then try again.</extracomment>
            <translation>与“{name}”的连接已断开。请确认它未睡眠且已连接，然后重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/links.py" />
            <source>worker_silent</source>
            <extracomment>“{name}” takes too long. Check that it is awake and connected, then try again.</extracomment>
            <translation>“{name}”响应时间过长。请确认它未睡眠且已连接，然后重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/links.py" />
            <source>worker_unreachable</source>
            <extracomment>“{name}” can't be reached ({reason}). Start the worker there, and check the connection.</extracomment>
            <translation>无法连接“{name}”（{reason}）。请在那里启动工作进程，并检查连接。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/model_copy.py" />
            <source>copying_to_worker</source>
            <extracomment>Copying the target to “{name}” ({share:.0%})</extracomment>
            <translation>正在将目标模型拷贝到“{name}”（{share:.0%}）</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/pairing.py" />
            <source>worker_certificate_changed</source>
            <extracomment>“{name}” has another certificate than when it was paired. Pair it again with the code that it shows.</extracomment>
            <translation>“{name}”的证书与配对时不同。请用它显示的代码重新配对。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/pairing.py" />
            <source>worker_code_wrong</source>
            <extracomment>The pairing code of “{name}” is wrong. Enter the code that the worker shows.</extracomment>
            <translation>“{name}”的配对码不正确。请输入工作进程显示的配对码。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/pairing.py" />
            <source>worker_version_differs</source>
            <extracomment>“{name}” has {package} {found}, and this computer {own}. Install the same version of Slipstream on both.</extracomment>
            <translation>“{name}”上的 {package} 为 {found}，而这台电脑为 {own}。请在两台电脑上安装相同版本的 Slipstream。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/ring/ring_plan.py" />
            <source>worker_code_missing</source>
            <extracomment>The keychain has no pairing code for “{name}”. Remove it from the other Macs, and add it again.</extracomment>
            <translation>钥匙串中没有“{name}”的配对码。请将它从其他 Mac 中移除，然后重新添加。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/cache_adapter.py" />
            <source>cache_cannot_rewind</source>
            <extracomment>This target uses a {kind}, which Slipstream can't rewind after rejected tokens. Load it without a drafter, or choose another target.</extracomment>
            <translation>此目标模型使用 {kind}，Slipstream 无法在拒绝词元后回退它。请不带草稿模型载入，或选取其他目标模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/exact.py" />
            <source>exact_cache</source>
            <extracomment>it uses a {kind}</extracomment>
            <translation>它使用 {kind}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/exact.py" />
            <source>exact_dtypes</source>
            <extracomment>it multiplies {left} by {right}</extracomment>
            <translation>它将 {left} 与 {right} 相乘</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/exact.py" />
            <source>exact_weights</source>
            <extracomment>it has {bits}-bit weights ({mode}, groups of {group_size}); supported: 16, 8, and 4 bits (affine)</extracomment>
            <translation>其权重为 {bits} 位（{mode}，每组 {group_size} 个）；支持 16、8 和 4 位（affine）</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/exact.py" />
            <source>not_row_exact</source>
            <extracomment>Exact mode isn't available for this model: {reason}. Turn exact mode off.</extracomment>
            <translation>此模型无法使用精确模式：{reason}。请关闭精确模式。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/exact_check.py" />
            <source>exact_family</source>
            <extracomment>the “{family}” family uses a different formula for a single row than for several</extracomment>
            <translation>在其系列“{family}”中，单行与多行使用不同的公式计算</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/exact_check.py" />
            <source>exact_trial</source>
            <extracomment>on this machine, the result for a row depends on the number of rows in a pass</extracomment>
            <translation>在此设备上，每行的结果会随一次计算的行数而变化</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/exact_check.py" />
            <source>exact_wrong</source>
            <extracomment>on this machine, the required kernels give wrong results</extracomment>
            <translation>在此设备上，它所需的内核给出错误结果</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/model_arguments.py" />
            <source>config_entries_missing</source>
            <extracomment>has “{field}” for only {count} of {layers} layers</extracomment>
            <translation>中的“{field}”只涵盖 {layers} 层中的 {count} 层</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/model_arguments.py" />
            <source>config_entry_unknown</source>
            <extracomment>sets “{field}” to {value}; allowed: {allowed}</extracomment>
            <translation>中的“{field}”含有 {value}；允许的值：{allowed}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/model_arguments.py" />
            <source>config_field_above</source>
            <extracomment>sets “{field}” to {value}, but “{other}” is only {most}</extracomment>
            <translation>中的“{field}”为 {value}，但“{other}”仅为 {most}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/model_arguments.py" />
            <source>config_field_missing</source>
            <extracomment>lacks “{field}”</extracomment>
            <translation>中缺少“{field}”</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/model_arguments.py" />
            <source>config_field_not_divisor</source>
            <extracomment>sets “{field}” to {value}, which doesn't divide “{other}” ({total})</extracomment>
            <translation>中的“{field}”为 {value}，不能整除“{other}”({total})</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/model_arguments.py" />
            <source>config_field_too_large</source>
            <extracomment>sets “{field}” to {value}, which is too large</extracomment>
            <translation>中的“{field}”为 {value}，数值过大</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/model_arguments.py" />
            <source>config_field_too_small</source>
            <extracomment>sets “{field}” to {value}, but it must be above 0</extracomment>
            <translation>中的“{field}”为 {value}；必须大于 0</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/model_arguments.py" />
            <source>config_field_type</source>
            <extracomment>sets “{field}” to {value}; expected type: {expected}</extracomment>
            <translation>中的“{field}”为 {value}；应为类型：{expected}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/model_arguments.py" />
            <source>config_quantization</source>
            <extracomment>sets “{field}” to {value} in its quantization settings, which isn't valid</extracomment>
            <translation>的量化设置将“{field}”设为无效的值 {value}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/targets/model_arguments.py" />
            <source>config_quantization_value</source>
            <extracomment>sets “{field}” to {value} in its quantization settings; allowed: {allowed}</extracomment>
            <translation>的量化设置将“{field}”设为 {value}；允许的值：{allowed}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/block_loss.py" />
            <source>drafter_not_tunable</source>
            <extracomment>Only DFlash and DFlash 2 drafters can be tuned. Choose another drafter.</extracomment>
            <translation>只有 DFlash 和 DFlash 2 草稿模型可以调优。请选择其他草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/fresh.py" />
            <source>drafter_exists</source>
            <extracomment>“{folder}” already contains something else. Choose another folder, or use the same options as before.</extracomment>
            <translation>“{folder}”中已有其他内容。请选择其他文件夹，或使用与之前相同的选项。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/fresh.py" />
            <source>target_size_missing</source>
            <extracomment>The target's config.json has no valid “{field}”, so a drafter can't be made for it. Choose another target.</extracomment>
            <translation>目标模型的 config.json 中缺少“{field}”，因此无法为其创建草稿模型。请选择其他目标模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/recorded_replies.py" />
            <source>no_replies_to_tune</source>
            <extracomment>The model's replies are empty or too long to learn from. Choose other prompts.</extracomment>
            <translation>模型的回复为空或过长，无法从中学习。请选择其他提示词。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/tuner.py" />
            <source>drafter_not_writable</source>
            <extracomment>The drafter in “{folder}” is part of Slipstream or can't be changed. Copy the pair to one of your own folders first.</extracomment>
            <translation>“{folder}”中的草稿模型属于 Slipstream 或无法更改。请先将这对模型拷贝到您自己的文件夹。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/tuner.py" />
            <source>images_to_tune</source>
            <extracomment>Tuning can't use prompts with images. Leave them out.</extracomment>
            <translation>带图像的提示词不能用于调优。请将其去掉。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/tuner.py" />
            <source>no_disk_to_tune</source>
            <extracomment>There isn't enough disk space to tune: {size:.0f} GB must stay free. Free up space, or use fewer prompts.</extracomment>
            <translation>磁盘空间不足，无法调优：必须保留 {size:.0f} GB 可用空间。请释放空间，或使用更少的提示词。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/tuner.py" />
            <source>no_memory_to_tune</source>
            <extracomment>There isn't enough memory to tune the drafter. Quit other apps, then try again.</extracomment>
            <translation>内存不足，无法调优草稿模型。请退出其他应用，然后重试。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/tuner.py" />
            <source>nothing_to_tune</source>
            <extracomment>There is nothing to tune: the pair has no drafter.</extracomment>
            <translation>没有可调优的内容：这对模型没有草稿模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/tuner.py" />
            <source>one_chat_to_tune</source>
            <extracomment>All prompts are from one chat. Add prompts from other chats.</extracomment>
            <translation>所有提示词都来自同一个对话。请添加其他对话中的提示词。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/tuner.py" />
            <source>too_few_prompts</source>
            <extracomment>Tuning needs at least {fewest} different prompts, but there are only {count}. Add more prompts.</extracomment>
            <translation>调优至少需要 {fewest} 个不同的提示词，但只有 {count} 个。请添加更多。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/tuner.py" />
            <source>tuned_already</source>
            <extracomment>The loaded drafter is tuned. Load it without its adapter, then tune it again.</extracomment>
            <translation>载入的草稿模型已经调优过。请在不使用调优结果的情况下载入，然后重新调优。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/tuner.py" />
            <source>tuning_measures</source>
            <extracomment>Measuring</extracomment>
            <translation>正在测量</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/tuner.py" />
            <source>tuning_replies</source>
            <extracomment>Generating reply {number} of {total}</extracomment>
            <translation>正在生成第 {number} 个回复（共 {total} 个）</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/tuning/tuner.py" />
            <source>tuning_step</source>
            <extracomment>Training, step {step} of {steps}, loss {loss:.2f}</extracomment>
            <translation>训练中，第 {step} 步（共 {steps} 步），损失 {loss:.2f}</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/vision/qwen_rules.py" />
            <source>image_too_narrow</source>
            <extracomment>The image is more than {most} times as long as wide. Crop it, then attach it again.</extracomment>
            <translation>图像的长度超过宽度的 {most} 倍。请先裁剪，然后重新附加。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/vision/vision_checkpoint.py" />
            <source>family_without_images</source>
            <extracomment>Slipstream can't show images to models of the “{family}” family. Choose another target, such as Qwen3.5 or Gemma 4.</extracomment>
            <translation>Slipstream 无法向“{family}”系列的模型显示图像。请选择其他目标模型，例如 Qwen3.5 或 Gemma 4。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/vision/vision_checkpoint.py" />
            <source>no_tower</source>
            <extracomment>This copy of the model can't see images, because it lacks the vision part. Choose a copy that includes it.</extracomment>
            <translation>此模型副本缺少视觉部分，因此无法查看图像。请选择包含视觉部分的副本。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/vision/vision_checkpoint.py" />
            <source>tensor_twice</source>
            <extracomment>“{tensor}” is stored twice</extracomment>
            <translation>“{tensor}”存储了两次</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/vision/vision_checkpoint.py" />
            <source>tower_does_not_fit</source>
            <extracomment>The vision part of “{name}” doesn't match its config.json ({reason}). Download the model again, or choose another one.</extracomment>
            <translation>“{name}”的视觉部分与其 config.json 不符（{reason}）。请重新下载该模型，或选择其他模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/vision/vision_checkpoint.py" />
            <source>tower_file_damaged</source>
            <extracomment>The weights of this model can't be read (“{file}”). Download the model again.</extracomment>
            <translation>无法读取此模型的权重（“{file}”）。请重新下载该模型。</translation>
        </message>
        <message>
            <location filename="../../mlx_engine/vision/vision_fields.py" />
            <source>vision_field_unusable</source>
            <extracomment>This model can't see images: “{field}” is {value} (expected: {expected}). Download the model again, or choose another one.</extracomment>
            <translation>此模型无法查看图像：“{field}”为 {value}（应为：{expected}）。请重新下载该模型，或选择其他模型。</translation>
        </message>
    </context>
</TS>
