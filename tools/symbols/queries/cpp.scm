(class_specifier name: (_) @name body: (_)) @class
(namespace_definition name: (_) @name) @module
(alias_declaration name: (type_identifier) @name) @type
(concept_definition name: (identifier) @name) @type
(field_declaration_list (field_declaration declarator: (function_declarator declarator: (_) @name)) @method)
(field_declaration_list (field_declaration declarator: (_ (function_declarator declarator: (_) @name))) @method)
(declaration_list (declaration declarator: (function_declarator declarator: (identifier) @name)) @function)
(field_declaration_list (declaration declarator: (function_declarator declarator: (_) @name)) @method)
